import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { sql } from 'kysely';
import { defaultTimeouts } from '../../../src/http/server/resource-limits.ts';
import type { ServiceDeps } from '../../../src/server.ts';
import { createTestClock } from '../../kit/clock.ts';
import { eventually, eventuallyAfterSteps } from '../../kit/eventually.ts';
import { formatRequest } from '../../kit/network/raw-http.ts';
import { openStream } from '../../kit/network/stream.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  const FEED = '/v2/notifications';
  const streaming = { accept: 'text/event-stream' };

  async function startFixture(
    t: TestContext,
    options: Readonly<Record<string, string>> = {},
    deps: Partial<ServiceDeps> = {},
  ) {
    const clock = createTestClock();
    const carillon = await testService(t, { deps: { clock, ...deps }, options });
    const owner = await carillon.createAccount('acme.test');
    /** Advances the clock until the condition holds. */
    const advanceUntil = async (holds: () => boolean, stepMs = 500) => {
      await eventuallyAfterSteps(() => clock.advance(stepMs), holds, Boolean);
    };
    return { clock, carillon, owner, passUntil: advanceUntil };
  }

  test('X2 a stream sends past occurrences, then new ones, each with id, event and data', async (t) => {
    const { carillon, owner } = await startFixture(t);
    const { client_id } = await owner.carillon.clients.create({ client_name: 'ACME' });
    const stream = await openStream(t, carillon, owner, FEED);
    assert.equal(stream.status, 200);
    assert.equal(stream.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.equal(stream.headers.get('cache-control'), 'no-store');
    assert.equal(stream.headers.get('x-accel-buffering'), 'no');
    await stream.waitForEvents(1);
    await owner.carillon.clients.delete(client_id);
    await stream.waitForEvents(2);
    const { data } = await owner.carillon.notifications.list();
    assert.deepEqual(stream.messages, [
      { retry: '2000' },
      ...data.map((entry) => ({ id: entry.cursor, event: entry.kind, data: JSON.stringify(entry) })),
    ]);
  });

  test('X2 a stream from `latest` sends its cursor immediately, so that it can be resumed before the first event', async (t) => {
    const { carillon, owner } = await startFixture(t);
    await owner.carillon.clients.create({ client_name: 'Before' });
    const stream = await openStream(t, carillon, owner, `${FEED}?after=latest`);
    await eventually(
      async () => stream.messages,
      (messages) => messages.length === 2,
    );
    assert.deepEqual(stream.messages, [{ retry: '2000' }, { id: '1' }]);
    await owner.carillon.clients.create({ client_name: 'After' });
    const [sent] = await stream.waitForEvents(1);
    assert.deepEqual([sent?.id, sent?.event], ['2', 'new_client']);
  });

  test('X2 a stream resumes after Last-Event-ID, which has priority over `after`', async (t) => {
    const { carillon, owner } = await startFixture(t);
    for (const name of ['A', 'B', 'C']) await owner.carillon.clients.create({ client_name: name });
    const withoutLastEventId = await openStream(t, carillon, owner, `${FEED}?after=1`);
    const withLastEventId = await openStream(t, carillon, owner, `${FEED}?after=1`, { 'last-event-id': '2' });
    await owner.carillon.clients.create({ client_name: 'D' });
    const idsOf = async (stream: typeof withLastEventId, count: number) =>
      (await stream.waitForEvents(count)).map(({ id }) => id);
    assert.deepEqual(await idsOf(withoutLastEventId, 3), ['2', '3', '4']);
    assert.deepEqual(await idsOf(withLastEventId, 2), ['3', '4']);
  });

  test('X2 a stream is limited by scope, kind and key, as a page is', async (t) => {
    const { carillon, owner } = await startFixture(t);
    const member = await carillon.createUser(owner, 'member');
    const own = await openStream(t, carillon, member, FEED);
    const all = await openStream(t, carillon, owner, `${FEED}?scope=account&kind=new_project`);
    await owner.carillon.projects.create({ project_name: 'By the owner' });
    await member.carillon.clients.create({ client_name: 'ACME' });
    await member.carillon.projects.create({ project_name: 'By the member' });
    assert.deepEqual(
      (await own.waitForEvents(2)).map(({ id, event }) => [id, event]),
      [
        ['2', 'new_client'],
        ['3', 'new_project'],
      ],
    );
    assert.deepEqual(
      (await all.waitForEvents(2)).map(({ id }) => id),
      ['1', '3'],
    );
  });

  test('X2 a request that cannot be streamed is rejected before the stream begins', async (t) => {
    const { carillon, owner } = await startFixture(t);
    const member = await carillon.createUser(owner, 'member');
    const send = async (who: typeof owner | undefined, query: string, headers: Record<string, string> = {}) => {
      const { status, json } = await carillon.call(who, 'GET', `${FEED}${query}`, undefined, {
        ...streaming,
        ...headers,
      });
      return [status, json.code];
    };
    assert.deepEqual(await send(undefined, ''), [401, 'unauthorized']);
    assert.deepEqual(await send(member, '?scope=account'), [401, 'not_permitted']);
    assert.deepEqual(await send(owner, '?after=x'), [400, 'invalid_input']);
    assert.deepEqual(await send(owner, '?after=1'), [410, 'cursor_gone']);
    assert.deepEqual(await send(owner, '', { 'last-event-id': '1' }), [410, 'cursor_gone']);
    for (const id of ['', 'x', '-1', '1, 2']) {
      assert.deepEqual(await send(owner, '', { 'last-event-id': id }), [400, 'invalid_input'], id);
    }
  });

  test('X2 a request that prefers JSON, or a HEAD, gets no stream', async (t) => {
    const { carillon, owner } = await startFixture(t);
    for (const accept of [
      'application/json',
      '*/*',
      'application/json, text/event-stream;q=0.9',
      'text/event-stream;q=0',
    ]) {
      const { headers, json } = await carillon.call(owner, 'GET', FEED, undefined, { accept });
      assert.deepEqual(
        [headers.get('content-type'), json],
        ['application/json; charset=utf-8', { data: [], next: '0' }],
      );
    }
    const { status, headers } = await carillon.call(owner, 'HEAD', `${FEED}?wait=30`, undefined, streaming);
    assert.deepEqual([status, headers.get('content-type')], [200, 'application/json; charset=utf-8']);
  });

  test('X2 an idle stream sends a heartbeat every 15 seconds, outlives every request timeout and reports its cursor', async (t) => {
    const { carillon, owner, clock, passUntil } = await startFixture(t);
    const member = await carillon.createUser(owner, 'member');
    const stream = await openStream(t, carillon, member, FEED);
    const heartbeats = () => stream.messages.filter(({ comment }) => comment !== undefined);
    await passUntil(() => heartbeats().length === 1);
    assert.ok(clock.monotonic() >= 15_000);
    await owner.carillon.clients.create({ client_name: 'By another' });
    await passUntil(() => heartbeats().length === 5);
    assert.ok(clock.monotonic() >= 75_000, 'far longer than the request timeout');
    assert.deepEqual(heartbeats()[0], { comment: '' });
    assert.deepEqual(heartbeats()[4], { comment: '' });
    assert.deepEqual(
      heartbeats().flatMap(({ id }) => id ?? []),
      ['1'],
      'the cursor passes the omitted occurrence, once',
    );
    await member.carillon.clients.create({ client_name: 'By the member' });
    assert.equal((await stream.waitForEvents(1))[0]?.id, '2', 'and the stream still works');
  });

  test('C1 X2 a stream ends immediately when its key is revoked by this process', async (t) => {
    const { carillon, owner } = await startFixture(t);
    const key = await carillon.createKey(owner, {});
    const { data } = await owner.carillon.keys.list();
    const stream = await openStream(t, carillon, key, FEED);
    await owner.carillon.clients.create({ client_name: 'before' });
    await stream.waitForEvents(1);
    await owner.carillon.keys.revoke(data.at(-1)?.id ?? '');
    await owner.carillon.clients.create({ client_name: 'after' });
    assert.equal(await stream.ended, true, 'cleanly');
    assert.equal(stream.events.length, 1, 'later occurrences are not sent');
  });

  test('C1 X2 a stream ends within about a second when its key is revoked by another process', async (t) => {
    const { carillon, owner, clock, passUntil } = await startFixture(t);
    const key = await carillon.createKey(owner, {});
    const stream = await openStream(t, carillon, key, FEED);
    let ended: boolean | undefined;
    void stream.ended.then((cleanly) => {
      ended = cleanly;
    });
    await eventually(
      () => stream.messages.length,
      (count) => count > 0,
    );
    await carillon.store.write(({ queries }) =>
      queries.updateTable('api_keys').set({ revoked_at: 1 }).where('label', '=', 'test').execute(),
    );
    const revokedAt = clock.monotonic();
    await passUntil(() => ended !== undefined, 100);
    assert.equal(ended, true);
    assert.ok(clock.monotonic() - revokedAt < 15_000, 'long before a heartbeat');
  });

  test('C2 X2 a stream ends when the user may no longer read the feed of the account', async (t) => {
    const { carillon, owner } = await startFixture(t);
    const admin = await carillon.createUser(owner, 'admin');
    const stream = await openStream(t, carillon, admin, `${FEED}?scope=account`);
    await owner.carillon.users.update(admin.userId, { role: 'member' });
    assert.equal(await stream.ended, true);
    assert.deepEqual(stream.events, []);
  });

  test('X2 at shutdown every stream ends cleanly, and nothing delays it', async (t) => {
    const { carillon, owner } = await startFixture(t);
    const streams = await Promise.all(Array.from({ length: 5 }, () => openStream(t, carillon, owner, FEED)));
    await owner.carillon.clients.create({ client_name: 'ACME' });
    for (const stream of streams) await stream.waitForEvents(1);
    const stopping = carillon.stop();
    for (const stream of streams) assert.equal(await stream.ended, true);
    await stopping;
  });

  test('X2 a reader that disconnects releases its slot', async (t) => {
    const { carillon, owner } = await startFixture(t, { maxFollowers: '1' });
    const stream = await openStream(t, carillon, owner, FEED);
    const open = async () => (await openStream(t, carillon, owner, FEED)).status;
    assert.equal(await open(), 503);
    stream.close();
    await eventually(open, (status) => status === 200);
    assert.equal(await open(), 503);
  });

  test('X2 a reader that accepts no data is not read for, and is disconnected', async (t) => {
    const shortTimeouts = { ...defaultTimeouts, drainMs: 0, stallMs: 50, deadlineCheckIntervalMs: 20 };
    const { carillon, owner, clock } = await startFixture(t, { maxFollowers: '1' }, { timeouts: shortTimeouts });
    const ENTRIES = 150_000;
    await carillon.store.write(async ({ queries }) => {
      const { account_id } = await queries
        .updateTable('positions')
        .set({ position: ENTRIES })
        .where('account_id', 'in', (from) =>
          from.selectFrom('users').select('account_id').where('user_id', '=', Number(owner.userId)),
        )
        .returning('account_id')
        .executeTakeFirstOrThrow();
      await sql`insert into occurrences (account_id, position, kind, user_id, record_id, occurred_at)
        with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(ENTRIES)})
        select ${sql.lit(account_id)}, i, 'new_client', ${sql.lit(Number(owner.userId))}, 1, ${sql.lit(clock.now())} from n`.execute(
        queries,
      );
    });
    const { hostname, port } = new URL(carillon.baseUrl);
    const socket = connect(Number(port), hostname);
    t.after(() => socket.destroy());
    const lines = [`GET ${FEED} HTTP/1.1`, 'host: x', 'accept: text/event-stream'];
    socket.write(formatRequest([...lines, `key: ${owner.key}`, `domain: ${owner.domain}`]));
    let text = '';
    let isBroken = false;
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-2_000);
    });
    socket.on('close', () => {
      isBroken = true;
    });
    socket.on('error', () => undefined);
    await once(socket, 'data');
    socket.pause();
    // The slot of the disconnected reader is free again.
    const { status } = await eventuallyAfterSteps(
      () => clock.advance(500),
      () => carillon.call(owner, 'GET', `${FEED}?limit=1&wait=1`),
      (response) => response.status !== 503,
    );
    assert.equal(status, 200);
    socket.resume();
    await eventually(() => isBroken, Boolean);
    const last = Number([...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1]);
    assert.ok(last > 0 && last < ENTRIES, `it was cut at ${last} of ${ENTRIES}`);
  });
}
