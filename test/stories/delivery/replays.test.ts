import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { after } from 'node:test';
import { CompiledQuery } from 'kysely';
import { eventually } from '../../kit/eventually.ts';
import { startTarget } from '../../kit/network/target.ts';
import { insertRows } from '../../kit/service/full-accounts.ts';
import type { ApiUser } from '../../kit/service/service.ts';
import { everyStore, sqlite } from '../../kit/service/stores.ts';

const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
const always = { from: '20200101', to: '2099-12-31 23:59:59' };
const HOUR = 3_600_000;
const MAX_REPLAYED = 10_000;

const toTime = (timestamp: number) => new Date(timestamp).toISOString().slice(0, 19).replace('T', ' ');

for (const { test, testService } of everyStore) {
  const carillon = await testService({ after }, { options: { retryWaits: '1h,1h' } });

  const replay = (who: ApiUser, id: string, interval: { from: string; to: string } = always) =>
    carillon.call(who, 'POST', `/v2/hooks/${id}/replay`, interval);

  test('X13 a repeated replay sends no delivery twice that still waits for the first one', async (t) => {
    const owner = await carillon.createAccount('repeated.test');
    const target = await startTarget(t);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const create = async (count: number) => {
      for (let number = 0; number < count; number += 1) await owner.carillon.events.create(event);
    };
    const finalized = (count: number) =>
      eventually(
        () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
        ({ paging }) => paging.total_records === count,
      );
    await create(30);
    await finalized(30);
    const open: ServerResponse[] = [];
    target.setReplies((response) => void open.push(response));
    assert.equal((await replay(owner, id)).json.data.deliveries, 30);
    assert.equal((await replay(owner, id)).json.data.deliveries, 0);
    const rows = () =>
      carillon.store.read.selectFrom('manual_attempts').selectAll().where('hook_id', '=', Number(id)).execute();
    assert.equal((await rows()).length, 30);
    const entries = await carillon.store.read
      .selectFrom('audit')
      .select('detail')
      .where('subject', '=', `hook ${id}`)
      .where('action', '=', 'hook.replayed')
      .orderBy('audit_id')
      .execute();
    assert.deepEqual(
      entries.map(({ detail }) => JSON.parse(detail).deliveries),
      [30, 0],
    );
    target.setReplies(200);
    for (const response of open.splice(0)) response.end();
    await eventually(rows, (waiting) => waiting.length === 0);
    assert.equal(target.received.length, 60);
    // No attempt waits any more, so a second replay sends all of them again.
    assert.equal((await replay(owner, id)).json.data.deliveries, 30);
    await target.waitForArrivals(90);
  });

  test('X13 a disabled hook, an ended hook and a hook of somebody else are not replayed', async (t) => {
    const owner = await carillon.createAccount('not-replayed.test');
    const stranger = await carillon.createAccount('stranger.test');
    const member = await carillon.createUser(owner, 'member');
    const target = await startTarget(t);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const answer = async (who: ApiUser) => {
      const { status, json } = await replay(who, id);
      return [status, json.code];
    };
    assert.deepEqual(await answer(member), [401, 'not_permitted']);
    assert.deepEqual(await answer(stranger), [404, 'not_found']);
    await owner.carillon.hooks.update(id, { enabled: 0 });
    assert.deepEqual(await answer(owner), [409, 'hook_disabled']);
    await owner.carillon.hooks.delete(id);
    assert.deepEqual(await answer(owner), [409, 'hook_ended']);
  });

  test('X13 a replay of more than 10,000 deliveries is rejected, and sends nothing', async (t) => {
    const owner = await carillon.createAccount('too-many.test');
    const target = await startTarget(t);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const start = Date.now() - 2 * HOUR;
    await insertDelivered(carillon.store, owner, id, MAX_REPLAYED + 1, (index) => start + index);
    const { status, json } = await replay(owner, id);
    const message = 'must be earlier: the interval has more than 10000 deliveries';
    assert.deepEqual([status, json.errors], [400, [{ field: 'to', message }]]);
    await target.catchUp();
    assert.equal(target.received.length, 0);
  });
}

/** Inserts finalized deliveries of a hook. */
async function insertDelivered(
  store: Parameters<typeof insertRows>[0],
  owner: ApiUser,
  hookId: string,
  count: number,
  createdAt: (index: number) => number,
): Promise<void> {
  const { account_id } = await store.read
    .selectFrom('accounts')
    .select('account_id')
    .where('domain', '=', owner.domain)
    .executeTakeFirstOrThrow();
  const rows = Array.from({ length: count }, (_, index) => ({
    ...{ account_id, delivery_id: 1_000_000 + index, user_id: Number(owner.userId), hook_id: Number(hookId) },
    ...{ position: 1_000_000 + index, kind: 'new_event', record_id: 1, state: 'delivered' },
    ...{ created_at: createdAt(index), finalized_at: Date.now() },
  }));
  await insertRows(store, 'finalized_deliveries', rows);
}

sqlite.test('X13 a replay reads only deliveries near its interval, however many the hook has', async (t) => {
  const statements: { readonly sql: string; readonly values: readonly SQLInputValue[] }[] = [];
  class RecordingSqlite extends DatabaseSync {
    override prepare(sql: string): StatementSync {
      const statement = super.prepare(sql);
      const { all } = statement;
      statement.all = (...values: unknown[]) => {
        if (/from "finalized_deliveries"/.test(sql)) statements.push({ sql, values: values as SQLInputValue[] });
        return Reflect.apply(all, statement, values);
      };
      return statement;
    }
  }
  const carillon = await sqlite.testService(t, { deps: { sqlite: RecordingSqlite } });
  const owner = await carillon.createAccount('large.test');
  const { id } = await owner.carillon.hooks.create({
    target_url: 'http://127.0.0.1:9/',
    event: 'new_event',
    enabled: 0,
  });
  const [count, days] = [100_000, 29];
  const start = Date.now() - days * 24 * HOUR;
  await insertDelivered(carillon.store, owner, id, count, (index) => start + (index / count) * days * 24 * HOUR);
  await owner.carillon.hooks.update(id, { enabled: 1 });

  /** Returns the number of rows that the index entries of a statement lead to, whatever their creation time. */
  async function countVisited({ sql, values }: (typeof statements)[number]): Promise<number> {
    const { rows: plan } = await carillon.store.read.executeQuery<{ detail: string }>(
      CompiledQuery.raw(`explain query plan ${sql}`, [...values]),
    );
    assert.match(plan.map(({ detail }) => detail).join('; '), /^SEARCH .* USING .*INDEX [^;]*$/, sql);
    if (!sql.includes('"created_at" <')) return 1;
    assert.match(plan[0]?.detail ?? '', /settled_by_hook \(account_id=\? AND <expr>=\? AND hook_id=\?\)/);
    const withoutTimes = [...values.slice(0, -3), 0, Number.MAX_SAFE_INTEGER, -1];
    return (await carillon.store.read.executeQuery(CompiledQuery.raw(sql, withoutTimes))).rows.length;
  }

  for (const { from, to, expected } of [
    { from: start + 10 * 24 * HOUR, to: start + 10 * 24 * HOUR + HOUR, expected: 144 },
    { from: Date.now() + HOUR, to: Date.now() + 2 * HOUR, expected: 0 },
    { from: start - 48 * HOUR, to: start - 24 * HOUR, expected: 0 },
  ]) {
    statements.length = 0;
    const { status, json } = await carillon.call(owner, 'POST', `/v2/hooks/${id}/replay`, {
      from: toTime(from),
      to: toTime(to),
    });
    assert.equal(status, 202, JSON.stringify(json));
    assert.ok(Math.abs(json.data.deliveries - expected) <= 1, `${json.data.deliveries} deliveries`);
    let visited = 0;
    for (const statement of statements) visited += await countVisited(statement);
    assert.ok(visited > 0 && visited <= 3 * 8_192, `${visited} rows visited for ${expected}`);
  }
});
