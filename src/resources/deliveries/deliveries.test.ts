import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test as plainTest } from 'node:test';
import { sql } from 'kysely';
import { insertRows } from '../../../test/kit/service/full-accounts.ts';
import type { ApiUser } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { AccountView } from '../../store/account-scope.ts';
import {
  buildFinalizedOfHookCondition,
  DELIVERY_ID_BUCKET_SQL,
  selectFinalizedDeliveries,
} from './select-deliveries.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');

  test('X3 a delivery shows its last thousand attempts, oldest first, and a list shows its last outcome', async () => {
    const { account_id } = await carillon.store.read
      .selectFrom('users')
      .select('account_id')
      .where('user_id', '=', Number(owner.userId))
      .executeTakeFirstOrThrow();
    const now = Date.now();
    const delivery = (delivery_id: number) => ({
      ...{ account_id, delivery_id, user_id: Number(owner.userId), hook_id: 1, position: delivery_id },
      ...{ kind: 'new_event', record_id: 1, created_at: now, finalized_at: now, state: 'delivered' },
    });
    await insertRows(carillon.store, 'finalized_deliveries', [delivery(1), delivery(2), delivery(3)]);
    const attempts = Array.from({ length: 1_003 }, (_, index) => ({
      ...{ account_id, attempt_id: 10_000 + index, hook_id: 1, delivery_id: 2, attempted_at: now + index },
      ...{ outcome: index === 1_002 ? '200' : '500', milliseconds: index },
    }));
    const other = { ...attempts[0], attempt_id: 20_000, delivery_id: 3, outcome: 'timeout' };
    await insertRows(carillon.store, 'attempts', [...attempts, other]);
    const shown = await owner.carillon.deliveries.get('2');
    assert.deepEqual(
      shown.attempts.map(({ milliseconds }) => Number(milliseconds)),
      Array.from({ length: 1_000 }, (_, index) => index + 3),
    );
    assert.equal(shown.last_outcome, '200');
    const { data } = await owner.carillon.deliveries.list();
    assert.deepEqual(
      data.map(({ id, last_outcome }) => [id, last_outcome]),
      [
        ['1', ''],
        ['2', '200'],
        ['3', 'timeout'],
      ],
    );
  });
}

plainTest('the index of stretches and the question that it answers are word for word the same', () => {
  const migration = readFileSync(new URL('../../store/migrations/0010_stretches.sql', import.meta.url), 'utf8');
  assert.ok(
    migration.includes(`(account_id, (${DELIVERY_ID_BUCKET_SQL.replace('finalized_deliveries.', '')}), hook_id)`),
  );
});

/** Ids at the ends of buckets and within them, with empty buckets in between. */
const ids = [8_190, 8_191, 8_192, 8_193, 16_383, 16_384, 50_000, 81_919, 81_920, 1_000_000];

for (const { name, test, testService } of stores) {
  const carillon = await testService({ after });
  const { store } = carillon;
  const owner = await carillon.createAccount('acme.test');
  const member = await carillon.createUser(owner, 'member');
  const stranger = await carillon.createAccount('elsewhere.test');

  /** Inserts finalized deliveries of a hook. */
  async function insertFinalized({ userId }: ApiUser, hookId: number, deliveryIds: readonly number[]) {
    await store.write(async ({ queries }) => {
      const user = await queries
        .selectFrom('users')
        .select(['account_id', 'user_id'])
        .where('user_id', '=', Number(userId))
        .executeTakeFirstOrThrow();
      const rows = deliveryIds.map((deliveryId) => ({
        ...user,
        ...{ delivery_id: deliveryId, hook_id: hookId, position: deliveryId, kind: 'new_event', record_id: 1 },
        ...{ created_at: 0, finalized_at: 0, state: deliveryId % 2 === 0 ? 'delivered' : 'failed' },
      }));
      await queries.insertInto('finalized_deliveries').values(rows).execute();
    });
  }
  const first = ids.map((id) => id * 10);
  const second = ids.map((id) => id * 10 + 1);
  await insertFinalized(owner, 71, first);
  await insertFinalized(owner, 72, second);
  await insertFinalized(member, 73, [3, 81_917]);
  await insertFinalized(stranger, 74, [20_000_000]);

  const list = async (who: ApiUser, query: string) => {
    const { status, json, text } = await carillon.call(who, 'GET', `/v2/deliveries?${query}`);
    assert.equal(status, 200, text);
    const found: { id: string }[] = json.data;
    return [found.map(({ id }) => Number(id)), json.paging.total_records];
  };

  test('X3 the finalized deliveries of a hook are found in every bucket, in order, and counted', async () => {
    assert.deepEqual(await list(owner, 'hook_id=71'), [first, first.length]);
    assert.deepEqual(await list(owner, 'hook_id=72'), [second, second.length]);
    assert.deepEqual(await list(owner, 'hook_id=71&limit=3&offset=4'), [first.slice(4, 7), first.length]);
    assert.deepEqual(await list(owner, 'hook_id=72&state=delivered'), [[], 0]);
    assert.deepEqual(await list(owner, 'hook_id=72&state=failed'), [second, second.length]);
    assert.deepEqual(await list(member, 'hook_id=73'), [[3, 81_917], 2]);
  });

  test('X3 C3 finalized deliveries of another user’s hook are in no bucket', async () => {
    for (const [who, hookId] of [
      [owner, 73],
      [owner, 74],
      [member, 71],
      [stranger, 71],
      [stranger, 73],
    ] as const) {
      assert.deepEqual(await list(who, `hook_id=${hookId}`), [[], 0], `${who.domain} ${hookId}`);
    }
  });

  if (name === 'SQLite') {
    test('X3 a page of a hook is searched by bucket, without scanning all deliveries of its user', async () => {
      const { account_id } = await store.read
        .selectFrom('users')
        .select('account_id')
        .where('user_id', '=', Number(owner.userId))
        .executeTakeFirstOrThrow();
      const view = new AccountView(store.read, account_id, 0);
      const page = selectFinalizedDeliveries(view)
        .where(buildFinalizedOfHookCondition(view, Number(owner.userId), 71))
        .orderBy('id')
        .limit(3);
      const plan = await page.explain<{ detail: string }>(undefined, sql`query plan`);
      const [how] = plan.map(({ detail }) => detail).filter((detail) => / finalized_deliveries /.test(detail));
      assert.equal(
        how,
        'SEARCH finalized_deliveries USING INDEX settled_by_hook (account_id=? AND <expr>=? AND hook_id=?)',
      );
    });
  }
}
