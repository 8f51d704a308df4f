import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import type { Person } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

for (const { test, testService } of stores) {
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  /** Starts a TCP target that writes raw bytes. `closed` resolves with the bytes written, for each connection. */
  async function rawTarget(t: TestContext, write: (socket: Socket) => void) {
    const closed: Promise<number>[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.resume();
      closed.push(new Promise((resolve) => socket.once('close', () => resolve(socket.bytesWritten))));
      socket.once('data', () => write(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const address = server.address();
    return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`, closed };
  }

  async function onlyDelivery(owner: Person, target_url: string) {
    const { id } = await owner.carillon.hooks.create({ target_url, event: 'new_event' });
    await owner.carillon.events.create(event);
    const { data } = await owner.carillon.deliveries.list({ hook_id: id });
    return { id, get: () => owner.carillon.deliveries.get(data[0]?.id ?? '') };
  }

  test('C17 C21 the status line decides: a body that hangs or never ends is cut off and changes nothing', async (t) => {
    const carillon = await testService(t, { options: { attemptTimeout: '15s' } });
    const owner = await carillon.account('acme.test');
    const head = (status: string) => `HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\n`;
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const bodies: Record<string, (socket: Socket) => void> = {
      'a body that hangs': (socket) => socket.write(`${head('200 OK')}content-length: 1000000\r\n\r\nhello`),
      'a body without an end': (socket) => socket.write(`${head('200 OK')}\r\nhello`),
      'an endless body': (socket) => {
        socket.write(`${head('200 OK')}transfer-encoding: chunked\r\n\r\n`);
        const more = () => {
          while (socket.writable && socket.write(chunk));
        };
        socket.on('drain', more);
        more();
      },
      'an invalid chunked body': (socket) =>
        socket.end(`${head('200 OK')}transfer-encoding: chunked\r\n\r\nnonsense\r\n`),
      'a truncated body': (socket) => {
        socket.write(`${head('200 OK')}content-length: 100\r\n\r\nhal`);
        socket.destroySoon();
      },
    };
    for (const [what, write] of Object.entries(bodies)) {
      const target = await rawTarget(t, write);
      const began = performance.now();
      const delivery = await onlyDelivery(owner, target.url);
      const delivered = await eventually(delivery.get, (one) => one.state === 'delivered');
      assert.ok(performance.now() - began < 5_000, `${what} delayed the result`);
      assert.deepEqual(
        delivered.attempts.map((one) => one.outcome),
        ['200'],
        what,
      );
      const written = await target.closed[0];
      // Kernel buffers hold some megabytes. An unlimited body would send far more before the deadline.
      assert.ok((written ?? 0) < 16 * 1_024 * 1_024, `${what}: ${written} bytes were taken`);
      assert.equal((await owner.carillon.hooks.get(delivery.id)).state, 'live');
      await owner.carillon.hooks.delete(delivery.id);
    }
  });

  test('C21 the body of a response is neither stored nor displayed', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.account('acme.test');
    const target = await startTarget(t, (response) => response.writeHead(500).end('a secret of the target'), 200);
    const delivery = await onlyDelivery(owner, target.url);
    const delivered = await eventually(delivery.get, (one) => one.state === 'delivered');
    assert.equal(delivered.attempts[0]?.outcome, '500');
    assert.doesNotMatch(JSON.stringify(delivered) + JSON.stringify(carillon.logged), /secret of the target/);
  });

  test('C17 C21 one deadline covers the whole attempt: a target that never responds is a timeout, and the next attempt is made', async (t) => {
    const carillon = await testService(t, { options: { attemptTimeout: '200ms' } });
    const owner = await carillon.account('acme.test');
    const open: ServerResponse[] = [];
    const target = await startTarget(t, (response) => void open.push(response), 200);
    const delivery = await onlyDelivery(owner, target.url);
    const delivered = await eventually(delivery.get, (one) => one.state === 'delivered');
    const [timeout] = delivered.attempts;
    assert.deepEqual([timeout?.outcome, timeout?.counted, delivered.attempts.length], ['timeout', '1', 2]);
    const milliseconds = Number(timeout?.milliseconds);
    assert.ok(milliseconds >= 199 && milliseconds < 1_200, `${milliseconds} ms`);
  });

  test('C17 an interim response is ignored; a truncated status line or another protocol is a failure', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.account('acme.test');
    const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
    const early = await rawTarget(t, (socket) => socket.end(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${ok}`));
    const first = await onlyDelivery(owner, early.url);
    const delivered = await eventually(first.get, (one) => one.state === 'delivered');
    assert.equal(delivered.attempts.length, 1);
    await owner.carillon.hooks.delete(first.id);

    const heads = { cut: 'HTTP/1.1 200 O', none: '220 smtp.test ESMTP\r\n', other: 'HTTP/1.1 2OO OK\r\n\r\n' };
    for (const head of Object.values(heads)) {
      const target = await rawTarget(t, (socket) => socket.end(head));
      const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
      await owner.carillon.events.create(event);
      const ended = await eventually(
        () => owner.carillon.hooks.get(id),
        (one) => one.state === 'ended',
      );
      assert.equal(ended.ended_reason, 'three_failures', head);
      assert.match(ended.last_outcome, /^(reset|protocol)$/);
    }
  });
}
