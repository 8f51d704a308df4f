import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect } from 'node:net';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { parse, reachable } from './oracle.ts';

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
    hits: () => connections.filter((address) => !reachable(parse(address))),
    reset() {
      connections = [];
      requests = [];
    },
  };
}

/** Connects to an address without the guard. Returns undefined on success, else the error code. */
export function dial(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, autoSelectFamily: false });
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
  });
}
