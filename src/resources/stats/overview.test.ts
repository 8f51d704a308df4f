import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { startTarget } from '../../../test/kit/network/target.ts';
import { insertRows } from '../../../test/kit/service/full-accounts.ts';
import type { ApiUser } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const NEVER = '0000-00-00 00:00:00';
  const MINUTE_MS = 60_000;

  async function setUp(t: TestContext) {
    const clock = createTestClock();
    const waits = { retryWaits: '10m,2h' };
    const carillon = await testService(t, { deps: { clock }, options: waits });
    const owner = await carillon.createAccount('acme.test');
    const target = await startTarget(t);
    const overviewOf = async (who: ApiUser) => {
      const { console } = await carillon.signIn(who);
      return () => console.overview();
    };
    const subscribe = async (who: ApiUser, path: string) =>
      (await who.carillon.hooks.create({ target_url: target.urlOf(path), event: 'new_client' })).id;
    const settled = (count: number) =>
      eventually(
        () => carillon.store.read.selectFrom('attempts').select('attempt_id').execute(),
        (rows) => rows.length === count,
      );
    return { clock, carillon, owner, target, overviewOf, subscribe, settled };
  }

  test('an account without activity has an overview of zeros and sixty empty minutes', async (t) => {
    const { owner, overviewOf } = await setUp(t);
    const { minutes, ...rest } = await (await overviewOf(owner))();
    assert.deepEqual(rest, {
      pending: '0',
      oldest_pending_at: NEVER,
      hooks_failing: '0',
      hooks_live: '0',
      hooks_ended_today: '0',
      delivered_last_hour: '0',
      failed_last_hour: '0',
      p50_ms: '0',
      p95_ms: '0',
      attempts_since: '2025-05-01 11:01:00',
    });
    assert.equal(minutes.length, 60);
    assert.deepEqual(minutes[0], { minute: '2025-05-01 11:01:00', delivered: '0', failed: '0' });
    assert.deepEqual(minutes.at(-1), { minute: '2025-05-01 12:00:00', delivered: '0', failed: '0' });
  });

  test('deliveries, failures and ended hooks are counted: of the account for admins, of own hooks for others', async (t) => {
    const { clock, carillon, owner, target, overviewOf, subscribe, settled } = await setUp(t);
    const member = await carillon.createUser(owner, 'member');
    const [all, own] = [await overviewOf(owner), await overviewOf(member)];
    await subscribe(owner, '/live');
    await subscribe(member, '/failing');
    const { id: gone } = await owner.carillon.hooks.create({ target_url: target.urlOf('/gone'), event: 'new_task' });
    await owner.carillon.hooks.delete(gone);
    const answer = (
      response: Parameters<Exclude<Parameters<typeof target.setReplies>[0], number | { status: number }>>[0],
      path: string,
    ) => response.writeHead(path === '/failing' ? 500 : 200).end();
    target.setReplies((response, { path }) => void answer(response, path));
    await owner.carillon.clients.create({ client_name: 'A' });
    await settled(1);
    await clock.advance(MINUTE_MS);
    await owner.carillon.clients.create({ client_name: 'B' });
    await member.carillon.clients.create({ client_name: 'C' });
    await settled(3);
    await member.carillon.clients.create({ client_name: 'D' });
    await clock.advance(MINUTE_MS);

    const quiet = { delivered: '0', failed: '0' };
    const { minutes, p50_ms, p95_ms, ...rest } = await all();
    assert.deepEqual(rest, {
      pending: '2',
      oldest_pending_at: '2025-05-01 12:01:00',
      hooks_failing: '1',
      hooks_live: '2',
      hooks_ended_today: '1',
      delivered_last_hour: '2',
      failed_last_hour: '1',
      attempts_since: '2025-05-01 11:03:00',
    });
    assert.ok(Number(p50_ms) <= Number(p95_ms));
    assert.deepEqual(minutes.slice(-3), [
      { minute: '2025-05-01 12:00:00', delivered: '1', failed: '0' },
      { minute: '2025-05-01 12:01:00', delivered: '1', failed: '1' },
      { minute: '2025-05-01 12:02:00', ...quiet },
    ]);
    assert.ok(minutes.slice(0, -3).every(({ delivered, failed }) => delivered === '0' && failed === '0'));

    const theirs = await own();
    const { pending, hooks_failing, hooks_live, hooks_ended_today, delivered_last_hour, failed_last_hour } = theirs;
    assert.deepEqual(
      [pending, hooks_failing, hooks_live, hooks_ended_today, delivered_last_hour, failed_last_hour],
      ['2', '1', '1', '0', '0', '1'],
    );
    const stranger = await (await overviewOf(await carillon.createAccount('other.test')))();
    assert.deepEqual([stranger.pending, stranger.hooks_live, stranger.failed_last_hour], ['0', '0', '0']);
  });

  test('attempts count for an hour and ended hooks for the day; deliveries of ended hooks are not pending', async (t) => {
    const { clock, owner, target, overviewOf, subscribe, settled } = await setUp(t);
    const overview = await overviewOf(owner);
    target.setReplies(401);
    await subscribe(owner, '/refusing');
    await owner.carillon.clients.create({ client_name: 'A' });
    await settled(1);
    const now = await overview();
    assert.deepEqual([now.pending, now.failed_last_hour, now.hooks_ended_today, now.hooks_live], ['0', '1', '1', '0']);
    await clock.advance(60 * MINUTE_MS);
    const later = await overview();
    assert.deepEqual([later.failed_last_hour, later.hooks_ended_today], ['0', '1']);
    await clock.advance(12 * 60 * MINUTE_MS);
    const tomorrow = await (await overviewOf(owner))();
    assert.deepEqual([tomorrow.failed_last_hour, tomorrow.hooks_ended_today], ['0', '0']);
  });

  test('pending deliveries of thousands of live hooks are added up; a member sees only those of own hooks', async (t) => {
    const { carillon, owner, overviewOf } = await setUp(t);
    const member = await carillon.createUser(owner, 'member');
    const { account_id } = await carillon.store.read
      .selectFrom('users')
      .select('account_id')
      .where('user_id', '=', Number(owner.userId))
      .executeTakeFirstOrThrow();
    const hooks = Array.from({ length: 2_300 }, (_, index) => ({
      ...{ account_id, hook_id: 1_000 + index, kind: 'new_client', target: `http://127.0.0.1:9/${index}` },
      user_id: Number(index % 3 === 0 ? member.userId : owner.userId),
      date_ended: index % 10 === 0 ? 1 : null,
      enabled: 1,
    }));
    const pending = hooks.map(({ hook_id, user_id }, index) => ({
      ...{ account_id, hook_id, user_id, delivery_id: 10_000 + index, position: 1, kind: 'new_client', record_id: 1 },
      created_at: Date.UTC(2025, 0, 1) + 1_000 * (hooks.length - index),
    }));
    await insertRows(carillon.store, 'hooks', hooks);
    await insertRows(carillon.store, 'pending_deliveries', pending);
    const all = await (await overviewOf(owner))();
    assert.deepEqual([all.pending, all.oldest_pending_at], [String(2_300 - 230), '2025-01-01 00:00:01']);
    const own = await (await overviewOf(member))();
    assert.deepEqual([own.pending, own.oldest_pending_at], [String(767 - 77), '2025-01-01 00:00:02']);
    const disable = (first: number) =>
      carillon.store.write(({ queries }) =>
        queries.updateTable('hooks').set({ enabled: 0 }).where('hook_id', '>=', first).execute(),
      );
    await disable(1_000 + 2_200);
    const partly = await (await overviewOf(owner))();
    assert.deepEqual([partly.pending, partly.oldest_pending_at], [String(2_300 - 230), '2025-01-01 00:01:41']);
    await disable(1_000);
    const none = await (await overviewOf(owner))();
    assert.deepEqual([none.pending, none.oldest_pending_at], [String(2_300 - 230), NEVER]);
  });

  test('p50 and p95 are quantiles of the attempts’ durations, without local errors', async (t) => {
    const { clock, carillon, owner, overviewOf, subscribe } = await setUp(t);
    const hook_id = Number(await subscribe(owner, '/a'));
    await carillon.store.write(async ({ queries }) => {
      const { account_id } = await queries.selectFrom('hooks').select('account_id').executeTakeFirstOrThrow();
      const attempt = { account_id, hook_id, delivery_id: 1, attempted_at: clock.now(), counted: 0, reason: '' };
      const rows = Array.from({ length: 100 }, (_, index) => ({
        ...attempt,
        outcome: '200',
        milliseconds: 100 - index,
      }));
      const ours = { ...attempt, outcome: 'no_resolver', milliseconds: 5_000 };
      await queries
        .insertInto('attempts')
        .values([...rows, ours, ours])
        .execute();
    });
    const { delivered_last_hour, failed_last_hour, p50_ms, p95_ms } = await (await overviewOf(owner))();
    assert.deepEqual([delivered_last_hour, failed_last_hour, p50_ms, p95_ms], ['100', '0', '50', '95']);
  });
}
