import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../test/kit/eventually.ts';
import { BatchedResponses } from './batched-responses.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Connections to a server, and what has come over each of them. */
async function open(t: TestContext, handle: Handler, count: number, turnAnswers = new BatchedResponses()) {
  const server = createServer({ ServerResponse: turnAnswers.responseClass }, handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(port, '127.0.0.1').setEncoding('latin1');
      t.after(() => socket.destroy());
      const heard = { socket, text: '', closed: false };
      socket.on('data', (text: string) => {
        heard.text += text;
      });
      socket.on('close', () => {
        heard.closed = true;
      });
      await once(socket, 'connect');
      return heard;
    }),
  );
}

const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
const answers = (text: string) => text.split('HTTP/1.1 200 OK').length - 1;

test('answers that are given in one turn leave together: none before the last of them is made', async (t) => {
  const waiting: ServerResponse[] = [];
  const written: number[] = [];
  const callers = await open(
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

test('what is asked in a row over one connection is answered in that row; a stream comes piece by piece; a last answer ends it', async (t) => {
  let asked = 0;
  const [caller] = await open(
    t,
    (request, response) => {
      asked += 1;
      if (request.url === '/last') response.shouldKeepAlive = false;
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.write(`first of ${asked};`);
      setImmediate(() => response.end(`second of ${asked}.`));
    },
    1,
  );
  assert.ok(caller);
  caller.socket.write(GET + GET);
  await eventually(
    () => answers(caller.text),
    (count) => count === 2,
  );
  caller.socket.write(GET.replace('/', '/last'));
  await eventually(() => caller.closed, Boolean);
  assert.equal(answers(caller.text), 3);
  assert.equal(caller.text.split('first of').length - 1, 3);
  assert.equal(caller.text.split('second of').length - 1, 3);
});

test('of very many in one turn, the first leave before the last are made', async (t) => {
  const waiting: ServerResponse[] = [];
  let left = 0;
  const callers = await open(
    t,
    (_request, response) => {
      waiting.push(response);
      if (waiting.length < 40) return;
      for (const one of waiting) one.writeHead(200, { 'content-length': 2 }).end('ok');
      left = waiting.filter(({ socket }) => socket === null || socket.writableLength === 0).length;
    },
    40,
  );
  for (const { socket } of callers) socket.write(GET);
  for (const caller of callers) await eventually(() => caller.text.endsWith('ok'), Boolean);
  assert.equal(left, 32);
});

test('answers that were made before a stop have left when connections are closed that are idle, and those after it leave at once', async (t) => {
  const turnAnswers = new BatchedResponses();
  const waiting: ServerResponse[] = [];
  const callers = await open(
    t,
    (request, response) => {
      waiting.push(response);
      if (waiting.length < 4) return;
      const [last, ...first] = waiting.reverse();
      for (const one of first) one.writeHead(200, { 'content-length': 2 }).end('ok');
      turnAnswers.stop();
      last?.writeHead(200, { 'content-length': 2 }).end('ok');
      const { server } = request.socket as Socket & { server?: { closeIdleConnections(): void } };
      server?.closeIdleConnections();
    },
    4,
    turnAnswers,
  );
  for (const { socket } of callers) socket.write(GET);
  for (const caller of callers) await eventually(() => caller.closed || caller.text.endsWith('ok'), Boolean);
  assert.deepEqual(
    callers.map(({ text }) => text.endsWith('ok')),
    [true, true, true, true],
  );
});
