import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { requestText } from '../../../test/kit/network/raw-http.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';

const CONNECTIONS = 200;

/** First bytes of connections that the service handles outside of its framework. */
const beginnings: Readonly<Record<string, string>> = {
  'a tunnel': requestText(['CONNECT elsewhere.example:443 HTTP/1.1', 'host: elsewhere.example:443']),
  'an upgrade': requestText(['GET / HTTP/1.1', 'host: x', 'connection: upgrade', 'upgrade: websocket']),
  'no HTTP at all': 'hello there\r\n\r\n',
  'half a request': 'POST /v2/events HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{',
};

/** Sends the bytes and resets the connection, so that the response meets the reset. */
async function sendAndReset(baseUrl: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(bytes);
  socket.resetAndDestroy();
  await closed;
}

test('C6 C22 a client that sends something and resets the connection does not affect the service', async (t) => {
  const service = await sqlite.serviceProcess(t);
  for (const [what, bytes] of Object.entries(beginnings)) {
    for (let round = 0; round < CONNECTIONS / 20; round += 1)
      await Promise.all(Array.from({ length: 20 }, () => sendAndReset(service.baseUrl, bytes)));
    const alive = await fetch(`${service.baseUrl}/healthz`).catch(() => undefined);
    assert.deepEqual([what, alive?.status, service.process.exitCode], [what, 200, null]);
  }
  assert.equal(await service.stop('SIGTERM'), 0);
});
