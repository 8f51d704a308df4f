import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls';
import { type Behaviour, told } from './behaviour.ts';
import { behaviourOf, behaviours } from './behaviours.ts';
import type { Authority } from './certificates.ts';
import { chanceFrom } from './random.ts';
import { good } from './behaviours/tls.ts';
import { FOLLOWED } from './behaviours/redirects.ts';
import { type Asked, RequestReader } from './request.ts';
import { parseScript, play, type Script } from './script.ts';
import { type Surroundings, Visit } from './connection.ts';

/** What came of one connection. */
export type Visited = {
  readonly at: number;
  readonly port: number;
  readonly from: string;
  /** Undefined where nobody has said what to do. */
  readonly behaviour: Behaviour | undefined;
  readonly tls: boolean;
  readonly asked: Asked | undefined;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly ms: number;
  /** What kept the handshake from being completed, in the words of TLS, or why nothing could be done. */
  readonly fault: string | undefined;
};

export type Setup = Surroundings & {
  readonly host: string;
  readonly seed: number;
  readonly authority: Authority;
  readonly visited: (visited: Visited) => void;
};

export type Receiver = { readonly port: number; close(): Promise<void> };

/** The most paths whose place in their script is remembered. */
const MOST_PATHS = 10_000;

/** TLS begins with a record of this type, and nothing else that anybody says does. */
const HANDSHAKE = 0x16;

/** Listens on a port of its own. Every connection takes the next step of the script; without one, its path is one. */
export async function startReceiver(setup: Setup, port: number, script?: Script): Promise<Receiver> {
  const open = new Set<Socket>();
  const secureContexts = new Map<Behaviour | undefined, SecureContextOptions>();
  const secure = (socket: Socket, behaviour: Behaviour | undefined) => {
    const options = secureContexts.get(behaviour) ?? contextOf(setup.authority, behaviour);
    secureContexts.set(behaviour, options);
    return secured(socket, options);
  };
  const scriptAt = scriptsByPath(setup);
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) => {
    open.add(socket);
    const reception = new Reception(setup, socket, { known: script?.next(), scriptAt, secure });
    reception.take().finally(async () => {
      await reception.end();
      open.delete(socket);
    });
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, setup.host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

type Choice = {
  readonly known: Behaviour | undefined;
  readonly scriptAt: (path: string) => Script | { readonly fault: string };
  readonly secure: (socket: Socket, behaviour: Behaviour | undefined) => Promise<TLSSocket>;
};

/** One connection, from the moment that it is there. */
class Reception {
  readonly #setup: Setup;
  readonly #raw: Socket;
  readonly #visit: Visit;
  readonly #choice: Choice;
  readonly #beganAt: number;
  readonly #origin: Pick<Visited, 'at' | 'port' | 'from'>;
  #behaviour: Behaviour | undefined;
  #fault: string | undefined;

  constructor(setup: Setup, raw: Socket, choice: Choice) {
    this.#setup = setup;
    this.#raw = raw;
    this.#visit = new Visit(raw, setup);
    this.#choice = choice;
    this.#behaviour = choice.known;
    this.#beganAt = setup.clock.monotonic();
    const at = setup.clock.now();
    const { port = 0 } = raw.address() as AddressInfo;
    const from = `${raw.remoteAddress}:${raw.remotePort}`;
    this.#origin = { at, port, from };
  }

  async take(): Promise<void> {
    if (this.#behaviour?.at === 'connected') return this.#act();
    const first = await this.#first();
    if (first === undefined) return;
    if (this.#behaviour?.at === 'greeted') return this.#act();
    if (first === HANDSHAKE && !(await this.#handshake())) return;
    await this.#read();
  }

  /** Closed by the sender, if it does that; what is destroyed before might never arrive there. */
  async end(): Promise<void> {
    await this.#visit.wait(this.#setup.deadlineMs);
    this.#visit.socket.destroy();
    this.#raw.destroy();
    this.#setup.visited({ ...this.#origin, ...this.#account() });
  }

  /** The first byte, put back. */
  async #first(): Promise<number | undefined> {
    const readable = new Promise<void>((resolve) => this.#raw.once('readable', resolve));
    await Promise.race([readable, this.#visit.left]);
    const bytes: Buffer | null = this.#raw.read();
    if (bytes === null) return undefined;
    this.#raw.unshift(bytes);
    return bytes[0];
  }

  async #handshake(): Promise<boolean> {
    try {
      this.#visit.speakThrough(await this.#choice.secure(this.#raw, this.#behaviour));
      return true;
    } catch (error) {
      this.#fault = error instanceof Error ? error.message : String(error);
      this.#raw.destroy();
      return false;
    }
  }

  async #read(): Promise<void> {
    const reader = new RequestReader(this.#visit.socket);
    const { left } = this.#visit;
    if (await reader.has('head', left)) {
      this.#choose(reader.asked.path);
      const at = this.#behaviour?.at ?? 'asked';
      if (reader.expectsContinue && at !== 'head') this.#visit.write('HTTP/1.1 100 Continue\r\n\r\n');
      if (at === 'asked' || at === 'body') await reader.has(at, left);
    }
    this.#visit.asked = reader.asked;
    if (!this.#visit.isGone) await this.#act();
  }

  /** What the path has a say in. */
  #choose(path: string): void {
    if (path === FOLLOWED) this.#behaviour = behaviourOf('200');
    if (this.#behaviour === undefined) {
      const script = this.#choice.scriptAt(path);
      if ('fault' in script) this.#fault = script.fault;
      else this.#behaviour = script.next();
    }
    if (this.#behaviour?.tls !== undefined && !this.#isSecure) this.#fault = `${this.#behaviour.slug} is for https`;
  }

  get #isSecure(): boolean {
    return this.#visit.socket !== this.#raw;
  }

  async #act(): Promise<void> {
    const visit = this.#visit;
    if (this.#fault !== undefined) return visit.end(told('404 Not Found', this.#fault));
    if (this.#behaviour === undefined) return;
    visit.socket.resume();
    await this.#behaviour.act(visit);
    visit.socket.resume();
  }

  #account() {
    return {
      behaviour: this.#behaviour,
      tls: this.#isSecure,
      asked: this.#visit.asked,
      bytesRead: this.#raw.bytesRead,
      bytesWritten: this.#raw.bytesWritten,
      ms: Math.round(this.#setup.clock.monotonic() - this.#beganAt),
      fault: this.#fault,
    };
  }
}

/** Whether it begins before a request has said anything: a path comes too late for it. */
const isEarly = ({ at, tls }: Behaviour) =>
  at === 'connected' || at === 'greeted' || (tls !== undefined && tls !== good);

/** A path is a script: `/503*2,200/anything`. Each address has its own place in it. */
function scriptsByPath({ seed }: Setup): Choice['scriptAt'] {
  const inTime = behaviours.filter((one) => !isEarly(one));
  const scripts = new Map<string, Script>();
  const chance = chanceFrom(seed);
  return (path) => {
    const known = scripts.get(path);
    if (known !== undefined) return known;
    const [, first = ''] = decoded(path).split(/[/?]/);
    const steps = parseScript(first, inTime);
    if ('fault' in steps) return steps;
    const early = steps.flatMap(({ among }) => among).find(isEarly);
    if (early !== undefined)
      return { fault: `${early.slug} begins before a path is said: name it with --script, or use --each` };
    const script = play(steps, chance.fork());
    const [oldest] = scripts.keys();
    if (scripts.size >= MOST_PATHS && oldest !== undefined) scripts.delete(oldest);
    scripts.set(path, script);
    return script;
  };
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function contextOf(authority: Authority, behaviour: Behaviour | undefined): SecureContextOptions {
  return typeof behaviour?.tls === 'function' ? behaviour.tls(authority) : good(authority);
}

/** TLS over a connection; rejects when the handshake comes to nothing. */
function secured(socket: Socket, options: SecureContextOptions): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const secure = new TLSSocket(socket, {
    isServer: true,
    secureContext: createSecureContext(options),
    ALPNProtocols: ['http/1.1'],
  });
  secure.once('secure', () => resolve(secure));
  secure.on('error', reject);
  for (const ending of ['end', 'close'])
    secure.once(ending, () => reject(new Error('the sender closed within the handshake')));
  return promise;
}
