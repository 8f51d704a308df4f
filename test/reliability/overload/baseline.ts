import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';

/**
 * Minimal servers that reject every request, for comparison: node:http without any logic, or a socket that answers
 * without parsing.
 */
export type BareServer = 'node:http' | 'socket';

/** A body of about the size of the 503 response of the service. */
const BODY = JSON.stringify({ title: 'Too much is asked at once.', detail: 'x'.repeat(200), status: 503 });
const HEADERS = {
  'content-type': 'application/problem+json',
  'content-length': BODY.length,
  'retry-after': '1',
};

function createHttpBaseline(): Server {
  return createHttpServer((_request, response) => {
    response.sendDate = false;
    response.writeHead(503, HEADERS).end(BODY);
  });
}

function createSocketBaseline(): Server {
  const head = ['HTTP/1.1 503 Service Unavailable', ...Object.entries(HEADERS).map((pair) => pair.join(': '))];
  const answer = `${head.join('\r\n')}\r\n\r\n${BODY}`;
  return createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    // Each request of the load fits into one packet.
    socket.on('data', () => socket.write(answer, 'latin1'));
  });
}

const baselineFactories: Record<BareServer, () => Server> = {
  'node:http': createHttpBaseline,
  socket: createSocketBaseline,
};

/** This process runs one server that rejects every request, and sends its port to the parent process. */
if (import.meta.main) {
  process.once('message', (bare: BareServer) => {
    const server = baselineFactories[bare]();
    server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
  });
}
