import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls';
import { type Behaviour, formatTextResponse } from './behaviour.ts';
import { issueValidCertificate } from './behaviours/protocols.ts';
import { FOLLOWED_REDIRECT_PATH } from './behaviours/statuses.ts';
import { behaviours, findBehaviour } from './behaviours.ts';
import type { CertificateAuthority } from './certificates.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { seededRandom } from './random.ts';
import { type ReceivedRequest, RequestReader } from './request.ts';
import { createScript, parseScript, type Script } from './script.ts';

/** Report on one connection, created after the connection has ended. */
export type ConnectionReport = {
  /** When the connection was accepted, in milliseconds since the epoch. */
  readonly at: number;
  readonly port: number;
  /** Address and port of the sender. */
  readonly from: string;
  /** Undefined if the sender closed the connection before the request path selected a behaviour. */
  readonly behaviour: Behaviour | undefined;
  /** Whether the TLS handshake was completed. */
  readonly tls: boolean;
  readonly request: ReceivedRequest | undefined;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Duration of the connection, in milliseconds. */
  readonly ms: number;
  /** The reason why the TLS handshake failed, or why the path has no behaviour. */
  readonly error: string | undefined;
};

export type ServerOptions = ConnectionOptions & {
  readonly host: string;
  readonly seed: number;
  readonly authority: CertificateAuthority;
  readonly onConnectionEnd: (report: ConnectionReport) => void;
};

export type Server = { readonly port: number; close(): Promise<void> };

/** Maximum number of paths whose script position is kept. If there are more, the oldest one starts its script again. */
const MAX_CACHED_PATHS = 10_000;

/** Type of a TLS handshake record, which is the first byte of a TLS connection. */
const TLS_HANDSHAKE_RECORD_TYPE = 0x16;

/**
 * Listens on one port. Each connection gets the next behaviour of `script`. Without `script`, the request path contains
 * the script.
 */
export async function startServer(options: ServerOptions, port: number, script?: Script): Promise<Server> {
  const openSockets = new Set<Socket>();
  const tlsOptionsByBehaviour = new Map<Behaviour | undefined, SecureContextOptions>();
  const startTls = (socket: Socket, behaviour: Behaviour | undefined) => {
    const contextOptions = tlsOptionsByBehaviour.get(behaviour) ?? tlsOptionsOf(options.authority, behaviour);
    tlsOptionsByBehaviour.set(behaviour, contextOptions);
    return acceptTls(socket, contextOptions);
  };
  const findPathScript = createPathScriptFinder(options);
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) => {
    openSockets.add(socket);
    const handler = new ConnectionHandler(options, socket, {
      behaviour: script?.nextBehaviour(),
      findPathScript,
      startTls,
    });
    void handler.serveConnection().finally(async () => {
      await handler.closeAndReport();
      openSockets.delete(socket);
    });
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, options.host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of openSockets) socket.destroy();
      }),
  };
}

type FindPathScript = (path: string) => Script | { readonly error: string };

type ConnectionHandlerOptions = {
  /** The behaviour, if the port has a script; otherwise undefined until the path is read. */
  readonly behaviour: Behaviour | undefined;
  readonly findPathScript: FindPathScript;
  readonly startTls: (socket: Socket, behaviour: Behaviour | undefined) => Promise<TLSSocket>;
};

/** Runs one behaviour on one connection. */
class ConnectionHandler {
  readonly #options: ServerOptions;
  readonly #tcpSocket: Socket;
  readonly #connection: Connection;
  readonly #findPathScript: ConnectionHandlerOptions['findPathScript'];
  readonly #startTls: ConnectionHandlerOptions['startTls'];
  readonly #startedAt = performance.now();
  readonly #origin: Pick<ConnectionReport, 'at' | 'port' | 'from'>;
  #behaviour: Behaviour | undefined;
  #error: string | undefined;

  constructor(
    options: ServerOptions,
    tcpSocket: Socket,
    { behaviour, findPathScript, startTls }: ConnectionHandlerOptions,
  ) {
    this.#options = options;
    this.#tcpSocket = tcpSocket;
    this.#connection = new Connection(tcpSocket, options);
    this.#findPathScript = findPathScript;
    this.#startTls = startTls;
    this.#behaviour = behaviour;
    // Read the addresses now, because a closed socket has none.
    const { port = 0 } = tcpSocket.address() as AddressInfo;
    this.#origin = { at: Date.now(), port, from: `${tcpSocket.remoteAddress}:${tcpSocket.remotePort}` };
  }

  async serveConnection(): Promise<void> {
    if (this.#behaviour?.startsAt === 'connected') return this.#runBehaviour();
    const firstByte = await this.#peekFirstByte();
    if (firstByte === undefined) return;
    if (this.#behaviour?.startsAt === 'first-bytes') return this.#runBehaviour();
    if (firstByte === TLS_HANDSHAKE_RECORD_TYPE && !(await this.#performHandshake())) return;
    await this.#readRequest();
  }

  /**
   * Waits until the sender closes the connection, but at most `deadlineMs`. Then destroys the socket and reports the
   * connection. Destroying the socket earlier would discard bytes in flight.
   */
  async closeAndReport(): Promise<void> {
    await this.#connection.wait(this.#options.deadlineMs);
    this.#connection.socket.destroy();
    this.#tcpSocket.destroy();
    this.#options.onConnectionEnd(this.#createReport());
  }

  async #peekFirstByte(): Promise<number | undefined> {
    const whenReadable = new Promise<void>((resolve) => this.#tcpSocket.once('readable', resolve));
    await Promise.race([whenReadable, this.#connection.senderClosed]);
    const bytes: Buffer | null = this.#tcpSocket.read();
    if (bytes === null) return undefined;
    this.#tcpSocket.unshift(bytes);
    return bytes[0];
  }

  async #performHandshake(): Promise<boolean> {
    try {
      this.#connection.switchToSocket(await this.#startTls(this.#tcpSocket, this.#behaviour));
      return true;
    } catch (error) {
      this.#error = error instanceof Error ? error.message : String(error);
      this.#tcpSocket.destroy();
      return false;
    }
  }

  async #readRequest(): Promise<void> {
    const reader = new RequestReader(this.#connection.socket);
    const { senderClosed } = this.#connection;
    if (await reader.waitForPart('request-head', senderClosed)) {
      this.#chooseBehaviour(reader.request.path);
      const startsAt = this.#behaviour?.startsAt ?? 'request';
      if (reader.expectsContinue && startsAt !== 'request-head')
        this.#connection.write('HTTP/1.1 100 Continue\r\n\r\n');
      if (startsAt === 'request' || startsAt === 'request-body') await reader.waitForPart(startsAt, senderClosed);
    }
    this.#connection.request = reader.request;
    if (!this.#connection.hasSenderClosed) await this.#runBehaviour();
  }

  #chooseBehaviour(path: string): void {
    if (path === FOLLOWED_REDIRECT_PATH) this.#behaviour = findBehaviour('200');
    if (this.#behaviour === undefined) {
      const script = this.#findPathScript(path);
      if ('error' in script) this.#error = script.error;
      else this.#behaviour = script.nextBehaviour();
    }
    if (this.#behaviour?.tls !== undefined && !this.#isTls) this.#error = `${this.#behaviour.slug} requires https`;
  }

  get #isTls(): boolean {
    return this.#connection.socket !== this.#tcpSocket;
  }

  async #runBehaviour(): Promise<void> {
    const connection = this.#connection;
    if (this.#error !== undefined) return connection.end(formatTextResponse('404 Not Found', this.#error));
    if (this.#behaviour === undefined) return;
    connection.socket.resume();
    await this.#behaviour.run(connection);
    // `hang-unread` pauses the socket, so resume it.
    connection.socket.resume();
  }

  #createReport(): ConnectionReport {
    return {
      ...this.#origin,
      behaviour: this.#behaviour,
      tls: this.#isTls,
      request: this.#connection.request,
      bytesRead: this.#tcpSocket.bytesRead,
      bytesWritten: this.#tcpSocket.bytesWritten,
      ms: Math.round(performance.now() - this.#startedAt),
      error: this.#error,
    };
  }
}

/** Whether a behaviour starts before the request path is known, so that no path can select it. */
const startsBeforePath = ({ startsAt, tls }: Behaviour) =>
  startsAt === 'connected' || startsAt === 'first-bytes' || (tls !== undefined && tls !== issueValidCertificate);

/**
 * Returns a function that finds the script of a path. The first segment is the script, as in `/503*2,200/anything`, and
 * each path has its own position in its script.
 */
function createPathScriptFinder({ seed }: ServerOptions): FindPathScript {
  const selectableBehaviours = behaviours.filter((one) => !startsBeforePath(one));
  const scripts = new Map<string, Script>();
  const random = seededRandom(seed);
  return (path) => {
    const cachedScript = scripts.get(path);
    if (cachedScript !== undefined) return cachedScript;
    const [, scriptText = ''] = decodePath(path).split(/[/?]/);
    const steps = parseScript(scriptText, selectableBehaviours);
    if ('error' in steps) return steps;
    const unselectableBehaviour = steps.flatMap((step) => step.behaviours).find(startsBeforePath);
    if (unselectableBehaviour !== undefined)
      return {
        error: `${unselectableBehaviour.slug} starts before the path is known: select it with --script or --each`,
      };
    const script = createScript(steps, random.fork());
    const [oldestPath] = scripts.keys();
    if (scripts.size >= MAX_CACHED_PATHS && oldestPath !== undefined) scripts.delete(oldestPath);
    scripts.set(path, script);
    return script;
  };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function tlsOptionsOf(authority: CertificateAuthority, behaviour: Behaviour | undefined): SecureContextOptions {
  return typeof behaviour?.tls === 'function' ? behaviour.tls(authority) : issueValidCertificate(authority);
}

/** Performs the TLS handshake as the server. Rejects if the handshake fails. */
function acceptTls(socket: Socket, options: SecureContextOptions): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const tlsSocket = new TLSSocket(socket, {
    isServer: true,
    secureContext: createSecureContext(options),
    ALPNProtocols: ['http/1.1'],
  });
  tlsSocket.once('secure', () => resolve(tlsSocket));
  tlsSocket.on('error', reject);
  for (const event of ['end', 'close'])
    tlsSocket.once(event, () => reject(new Error('the sender closed during the handshake')));
  return promise;
}
