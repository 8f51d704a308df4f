import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { stores } from '../../../test/kit/service/stores.ts';
import { apiKey, Carillon, type FeedEntry } from './index.ts';

/** Handles one connection. The last script handles all further connections. */
type ConnectionScript = (response: ServerResponse) => void;

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8' };

const entry = (cursor: number) => ({ cursor: String(cursor), kind: 'new_event' });

const frame = (cursor: number) => `id: ${cursor}\nevent: new_event\ndata: ${JSON.stringify(entry(cursor))}\n\n`;

/** Creates a script that sends these texts, each as a chunk. Then the stream ends, breaks off or stays open. */
function streamScript(chunks: readonly string[], then: 'ends' | 'breaks' | 'stays'): ConnectionScript {
  return (response) => {
    response.writeHead(200, STREAM);
    const send = (rest: readonly string[]) => {
      const [chunk, ...more] = rest;
      if (chunk !== undefined) response.write(chunk, () => setImmediate(() => send(more)));
      else if (then === 'ends') response.end();
      else if (then === 'breaks') response.destroy();
    };
    send(chunks);
  };
}

function problemScript(status: number, code: string): ConnectionScript {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify({ code, message: code }));
  };
}

async function service(t: TestContext, ...scripts: readonly ConnectionScript[]) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.headers.accept} ${request.url}`);
    (scripts[asked.length - 1] ?? scripts.at(-1))?.(response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { notifications } = new Carillon({ baseUrl, auth: apiKey({ domain: 'acme.test', key: 'k' }) });
  return { asked, notifications };
}

/** Returns the cursors of the first `count` entries of a followed feed. */
async function takeCursors(feed: AsyncIterable<FeedEntry>, count: number): Promise<string[]> {
  const cursors: string[] = [];
  for await (const { cursor } of feed) if (cursors.push(cursor) === count) break;
  return cursors;
}

const RETRY_AFTER_1_MS = 'retry: 1\n\n';

test('X2 following continues after the last entry when its connection ends or breaks at any point', async (t) => {
  const { asked, notifications } = await service(
    t,
    streamScript([RETRY_AFTER_1_MS, frame(1), frame(2).slice(0, 20)], 'breaks'),
    streamScript([RETRY_AFTER_1_MS, frame(2).replaceAll('\n', '\r\n')], 'ends'),
    problemScript(503, 'overloaded'),
    (response) => response.destroy(),
    // An event without data stands for skipped entries: it only advances the cursor.
    streamScript([RETRY_AFTER_1_MS, ':\nid: 7\n\n'], 'ends'),
    streamScript([frame(8), frame(9)], 'stays'),
  );
  assert.deepEqual(await takeCursors(notifications.follow({ scope: 'account' }), 4), ['1', '2', '8', '9']);
  const address = 'text/event-stream /v2/notifications?scope=account';
  const behind = ['', '&after=1', '&after=2', '&after=2', '&after=2', '&after=7'];
  assert.deepEqual(
    asked,
    behind.map((query) => address + query),
  );
});

test('X2 entries are parsed correctly when chunks split a character, a line or an entry', async (t) => {
  const text = `${frame(1)}:\n\nid: 2\ndata: {"cursor":"2",\ndata: "kind":"ü 予定"}\n\n`;
  const bytes = Buffer.from(text);
  const { notifications } = await service(t, (response) => {
    response.writeHead(200, STREAM);
    const send = (at: number) => {
      if (at < bytes.length) response.write(bytes.subarray(at, at + 1), () => send(at + 1));
    };
    send(0);
  });
  const entries: unknown[] = [];
  for await (const one of notifications.follow()) if (entries.push(one) === 2) break;
  assert.deepEqual(entries, [entry(1), { cursor: '2', kind: 'ü 予定' }]);
});

test('X2 C1 following rejects when the cursor is gone or the key is revoked; the first connection has to succeed', async (t) => {
  const gone = await service(t, streamScript([RETRY_AFTER_1_MS, frame(1)], 'ends'), problemScript(410, 'cursor_gone'));
  await assert.rejects(takeCursors(gone.notifications.follow(), 2), { code: 'cursor_gone', status: 410 });
  const revoked = await service(
    t,
    streamScript([RETRY_AFTER_1_MS, frame(1)], 'breaks'),
    problemScript(401, 'unauthorized'),
  );
  await assert.rejects(takeCursors(revoked.notifications.follow(), 2), { code: 'unauthorized', status: 401 });
  const down = await service(t, (response) => response.destroy());
  await assert.rejects(takeCursors(down.notifications.follow(), 1), { code: 'connection' });
  const busy = await service(t, problemScript(503, 'overloaded'));
  await assert.rejects(takeCursors(busy.notifications.follow(), 1), { code: 'overloaded' });
  const another = await service(t, (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'));
  await assert.rejects(takeCursors(another.notifications.follow(), 1), { code: 'unexpected_answer' });
  assert.deepEqual([down.asked.length, busy.asked.length, another.asked.length], [1, 1, 1]);
});

test('X2 following ends when its signal is aborted: before the start, while waiting, and between two connections', async (t) => {
  const { asked, notifications } = await service(t, streamScript([frame(1)], 'stays'));
  assert.deepEqual(await takeCursors(notifications.follow({}, { signal: AbortSignal.abort() }), 1), []);
  assert.deepEqual(asked, []);
  const leaving = new AbortController();
  const seen: string[] = [];
  for await (const { cursor } of notifications.follow({}, { signal: leaving.signal })) {
    seen.push(cursor);
    leaving.abort();
  }
  assert.deepEqual(seen, ['1']);
  const lost = await service(t, streamScript(['retry: 3600000\n\n', frame(1)], 'ends'));
  const away = new AbortController();
  const feed = lost.notifications.follow({}, { signal: away.signal });
  assert.equal((await feed.next()).value?.cursor, '1');
  const next = feed.next();
  setImmediate(() => away.abort());
  assert.deepEqual(await next, { done: true, value: undefined });
});

for (const { test, testService } of stores) {
  test('X2 following yields existing entries, then new ones, and ends when the key is revoked', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const reader = await carillon.createKey(owner, {});
    const { data: keys } = await owner.carillon.keys.list();
    const { clients } = owner.carillon;
    await clients.create({ client_name: 'One' });
    await clients.create({ client_name: 'Two' });
    const feed = reader.carillon.notifications.follow({ after: '1' });
    const { data } = await owner.carillon.notifications.list({ after: '1' });
    assert.deepEqual((await feed.next()).value, data[0]);
    const [next] = await Promise.all([feed.next(), clients.create({ client_name: 'Three' })]);
    assert.equal(next.value?.cursor, '3');
    const refused = assert.rejects(feed.next(), { code: 'unauthorized' });
    await owner.carillon.keys.revoke(keys.at(-1)?.id ?? '');
    await refused;
  });
}
