import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../test/kit/eventually.ts';
import { BatchedResponses } from './response-buffers.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Opens connections to a new server, and collects the text received over each connection. */
async function openConnections(t: TestContext, handle: Handler, count: number, batched = new BatchedResponses()) {
  const server = createServer({ ServerResponse: batched.responseClass }, handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(port, '127.0.0.1').setEncoding('latin1');
      t.after(() => socket.destroy());
      const received = { socket, text: '', closed: false };
      socket.on('data', (text: string) => {
        received.text += text;
      });
      socket.on('close', () => {
        received.closed = true;
      });
      await once(socket, 'connect');
      return received;
    }),
  );
}

const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
const responseCount = (text: string) => text.split('HTTP/1.1 200 OK').length - 1;

test('responses of one event-loop iteration are flushed together, after the last one is written', async (t) => {
  const waiting: ServerResponse[] = [];
  const written: number[] = [];
  const callers = await openConnections(
    t,
    (_request, response) => {
      waiting.push(response);
      if (waiting.length < 3) return;
      const sockets = waiting.map((one) => one.socket as Socket);
      for (const one of waiting) {
        one.writeHead(200, { 'content-length': 2 }).end('ok');
        written.push(...sockets.map(({ bytesWritten, writableLength }) => bytesWritten - writableLength));
      }
    },
    3,
  );
  for (const { socket } of callers) socket.write(GET);
  for (const caller of callers) await eventually(() => caller.text.endsWith('ok'), Boolean);
  assert.deepEqual(written, Array(9).fill(0));
});

test('pipelined requests are answered in order, a stream is sent in chunks, and the last response closes the connection', async (t) => {
  let requests = 0;
  const [caller] = await openConnections(
    t,
    (request, response) => {
      requests += 1;
      if (request.url === '/last') response.shouldKeepAlive = false;
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.write(`first of ${requests};`);
      setImmediate(() => response.end(`second of ${requests}.`));
    },
    1,
  );
  assert.ok(caller);
  caller.socket.write(GET + GET);
  await eventually(
    () => responseCount(caller.text),
    (count) => count === 2,
  );
  caller.socket.write(GET.replace('/', '/last'));
  await eventually(() => caller.closed, Boolean);
  assert.equal(responseCount(caller.text), 3);
  assert.equal(caller.text.split('first of').length - 1, 3);
  assert.equal(caller.text.split('second of').length - 1, 3);
});

test('a stop flushes pending responses before idle connections are closed, and later responses are sent immediately', async (t) => {
  const batched = new BatchedResponses();
  const waiting: ServerResponse[] = [];
  const callers = await openConnections(
    t,
    (request, response) => {
      waiting.push(response);
      if (waiting.length < 4) return;
      const [last, ...first] = waiting.reverse();
      for (const one of first) one.writeHead(200, { 'content-length': 2 }).end('ok');
      batched.stop();
      last?.writeHead(200, { 'content-length': 2 }).end('ok');
      const { server } = request.socket as Socket & { server?: { closeIdleConnections(): void } };
      server?.closeIdleConnections();
    },
    4,
    batched,
  );
  for (const { socket } of callers) socket.write(GET);
  for (const caller of callers) await eventually(() => caller.closed || caller.text.endsWith('ok'), Boolean);
  assert.deepEqual(
    callers.map(({ text }) => text.endsWith('ok')),
    [true, true, true, true],
  );
});
