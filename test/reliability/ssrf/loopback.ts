import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { systemClock } from '../../../src/clock.ts';
import type { AttemptOutcome } from '../../../src/delivery/dispatcher/retry-policy.ts';
import { createAttemptSender } from '../../../src/delivery/transport/attempt.ts';
import type { ResolveName } from '../../../src/delivery/transport/dns-resolver.ts';
import { createSsrfGuard, parseAllowRules, type SsrfGuard } from '../../../src/delivery/transport/ssrf-guard.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import type { RunResult } from '../reliability-test.ts';
import { addressesOf, corpusGuard } from './cases.ts';
import { isReachable, parseAddress } from './oracle.ts';

/** Listeners on both loopback addresses, at the same port, that count connections. */
type LoopbackListener = { readonly port: number; hits(host: '127.0.0.1' | '::1'): number };

async function listenOnLoopback(context: Cleanup): Promise<LoopbackListener> {
  const hits = { '127.0.0.1': 0, '::1': 0 };
  const open = async (host: keyof typeof hits, port: number): Promise<Server> => {
    // A client that followed this redirect would connect to ::1.
    const server = createServer((request, response) => {
      response.writeHead(307, { location: `http://[::1]:${request.socket.localPort}/` }).end();
    });
    server.on('connection', () => {
      hits[host] += 1;
    });
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
    atEnd(context, () => {
      server.closeAllConnections();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    });
    return server;
  };
  const { port } = (await open('127.0.0.1', 0)).address() as AddressInfo;
  // Machines without IPv6 have no ::1.
  await open('::1', port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRNOTAVAIL' && error.code !== 'EAFNOSUPPORT') throw error;
  });
  return { port, hits: (host) => hits[host] };
}

async function deliver(guard: SsrfGuard, target: string): Promise<AttemptOutcome> {
  const attempt = createAttemptSender({ guard, userAgent: 'Carillon/proof', clock: systemClock });
  const order = { target, body: '{}', deliveryId: '1', timeoutMs: 10_000, signal: new AbortController().signal };
  return attempt(order);
}

/** Addresses that the kernel routes to this machine. */
const ownMachinePattern = /^(127\.[\d.]+|0\.0\.0\.0|::1?|::ffff:(127\.[\d.]+|0\.0\.0\.0|7f\w\w:\w+|0:0))$/;

/**
 * Delivers to every form that leads only to this machine, at a port with a listener. Each attempt must fail
 * as forbidden.
 */
export async function deliverToLoopback(
  context: Cleanup,
  forms: readonly string[],
  guard: SsrfGuard = corpusGuard,
): Promise<RunResult> {
  const listener = await listenOnLoopback(context);
  const loopbackForms = forms.filter((form) => addressesOf(form).every((address) => ownMachinePattern.test(address)));
  const broken: string[] = [];
  for (const form of loopbackForms) {
    const target = withPort(form, listener.port);
    const outcome = await deliver(guard, target);
    if (outcome.kind !== 'failed' || outcome.cause !== 'forbidden') {
      broken.push(`${JSON.stringify(target)} was delivered to: ${JSON.stringify(outcome)}`);
    }
  }
  const hits = listener.hits('127.0.0.1') + listener.hits('::1');
  if (hits > 0) broken.push(`${hits} connections to this machine`);
  return { counts: { 'deliveries to loopback': loopbackForms.length, 'hits on loopback': hits }, broken };
}

/** Returns the same URL with another port. The host stays as it is written. */
function withPort(form: string, port: number): string {
  if (/[\s\\]|^http:\/?[^/]|^http:\/{3}/.test(form)) return Object.assign(new URL(form), { port: String(port) }).href;
  return form.replace(/^https?:\/\/([^/?#]*?)(:\d*)?(?=[/?#])/i, (_, host: string) => `http://${host}:${port}`);
}

/** Number of deliveries to each rebinding name. */
const DELIVERIES_PER_NAME = 20;

/**
 * Delivers to names that resolve differently each time: to 127.0.0.1, which stands for a public address and is
 * allowed, to ::1, which is forbidden, or to both. A delivery must succeed if all addresses of its only lookup are
 * allowed. No attempt may connect to ::1, although every response redirects there.
 */
export async function deliverToRebindingNames(
  context: Cleanup,
  random: SeededRandom,
  count: number,
  createResolvingGuard: (resolve: ResolveName, rule: string) => SsrfGuard = createGuardAllowing,
): Promise<RunResult> {
  const listener = await listenOnLoopback(context);
  const broken: string[] = [];
  let [lookups, expected] = [0, 0];
  for (let name = 0; name < count; name += 1) {
    let answered: readonly string[] = [];
    const resolve: ResolveName = async () => {
      lookups += 1;
      answered = random.pick([
        ['127.0.0.1'],
        ['::1'],
        ['127.0.0.1', '::1'],
        ['::1', '127.0.0.1'],
        ['::ffff:127.0.0.2'],
      ]);
      return { addresses: answered };
    };
    const guard = createResolvingGuard(resolve, `127.0.0.1/32:${listener.port}`);
    for (let turn = 0; turn < DELIVERIES_PER_NAME; turn += 1) {
      const { kind } = await deliver(guard, `http://turning-${name}.example:${listener.port}/`);
      const good = answered.every((address) => address === '127.0.0.1');
      if (good) expected += 1;
      if ((kind === 'answered') !== good) broken.push(`a name that resolved to ${answered} was ${kind}`);
    }
  }
  const delivered = listener.hits('127.0.0.1');
  if (listener.hits('::1') > 0) broken.push(`${listener.hits('::1')} connections to a rebound name`);
  if (delivered !== expected)
    broken.push(`${delivered} of ${expected} deliveries to a name that was allowed at its lookup`);
  if (lookups !== count * DELIVERIES_PER_NAME)
    broken.push(`${lookups} lookups for ${count * DELIVERIES_PER_NAME} attempts`);
  return { counts: { 'lookups of rebinding names': lookups, 'hits by rebinding': listener.hits('::1') }, broken };
}

function createGuardAllowing(resolve: ResolveName, rule: string): SsrfGuard {
  const parsed = parseAllowRules(rule);
  if ('fault' in parsed) throw new Error(parsed.fault);
  return createSsrfGuard({ resolve, allowRules: parsed.rules, isLoopbackAllowed: false });
}

/** A request that arrived, and the local address that it was sent to. */
export type ReceivedRequest = { readonly address: string; readonly url: string };

/** Listeners on every address: in the namespace all addresses are local. */
export type UniversalListener = {
  /** Local address of each connection, with or without a request. */
  readonly connections: readonly string[];
  readonly requests: readonly ReceivedRequest[];
  /** Connections to forbidden addresses, by the oracle. */
  hits(): string[];
  reset(): void;
};

export type Certificate = { readonly key: string; readonly cert: string };

/** Listens on these ports, with TLS where the protocol is https. */
export async function listenEverywhere(
  context: Cleanup,
  ports: ReadonlyMap<number, 'http:' | 'https:'>,
  certificate: Certificate,
): Promise<UniversalListener> {
  let connections: string[] = [];
  let requests: ReceivedRequest[] = [];
  const onRequest: RequestListener = (request, response) => {
    const url = request.url ?? '';
    requests.push({ address: request.socket.localAddress ?? '', url });
    const { pathname, searchParams } = new URL(url, 'http://here.example');
    if (pathname !== '/redirect') response.end();
    else response.writeHead(Number(searchParams.get('status')), { location: searchParams.get('to') ?? '' }).end();
  };
  for (const [port, protocol] of ports) {
    for (const host of ['0.0.0.0', '::']) {
      const server = protocol === 'https:' ? createSecureServer(certificate, onRequest) : createServer(onRequest);
      server.on('connection', (socket) => void connections.push(socket.localAddress ?? ''));
      await new Promise<void>((resolve, reject) =>
        server.once('error', reject).listen({ port, host, ipv6Only: true }, resolve),
      );
      atEnd(context, () => {
        server.closeAllConnections();
        server.close();
      });
    }
  }
  return {
    get connections() {
      return connections;
    },
    get requests() {
      return requests;
    },
    hits: () => connections.filter((address) => !isReachable(parseAddress(address))),
    reset() {
      connections = [];
      requests = [];
    },
  };
}

/** Connects to an address without the guard. Returns undefined on success, else the error code. */
export function connectWithoutGuard(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, autoSelectFamily: false });
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
  });
}
