import assert from 'node:assert/strict';
import { after } from 'node:test';
import { insertRows } from '../../../test/kit/service/full-accounts.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';
import { AccountView } from '../../store/account-scope.ts';
import { findDeliveriesOfInterval } from './deliveries-of-interval.ts';

const MINUTE = 60_000;

for (const { test, testService } of everyStore) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');

  test('X13 the deliveries of an interval are found, also if the clock was set back by half an hour in between', async () => {
    const { account_id } = await carillon.store.read
      .selectFrom('accounts')
      .select('account_id')
      .where('domain', '=', owner.domain)
      .executeTakeFirstOrThrow();
    // One user has two hooks, and another user's deliveries are older, as after an import.
    const deliveries = Array.from({ length: 3_000 }, (_, index) => {
      const isForeign = index % 7 === 0;
      return {
        ...{
          account_id,
          delivery_id: 10 + index * 23,
          user_id: isForeign ? 2 : 1,
          hook_id: isForeign ? 3 : 1 + (index % 2),
        },
        ...{ position: index % 11 === 0 ? null : index, kind: 'new_event', record_id: 1, state: 'delivered' },
        created_at: (isForeign ? 0 : 10_000 * MINUTE) + (index - (index >= 1_000 ? 30 : 0)) * MINUTE,
        finalized_at: 20_000 * MINUTE,
      };
    });
    await insertRows(carillon.store, 'finalized_deliveries', deliveries);
    const view = new AccountView(carillon.store.read, account_id, Date.now());
    const limit = deliveries.length;
    for (const [fromMinute, minutes] of [
      ...[0, 1, 969, 970, 980, 999, 1_000, 1_030, 2_960, 2_969, 2_970].flatMap((start) => [
        [start, 0],
        [start, 1],
        [start, 45],
        [start, 500],
      ]),
      [-20_000, 50_000],
      [-500, 100],
      [4_000, 1_000],
    ] as const) {
      const from = (10_000 + fromMinute) * MINUTE;
      const interval = { userId: 1, hookId: 1, from, until: from + minutes * MINUTE };
      const expected = deliveries.filter(
        ({ hook_id, position, created_at }) =>
          hook_id === 1 && position !== null && created_at >= from && created_at < interval.until,
      );
      assert.deepEqual(
        await findDeliveriesOfInterval(view, interval, limit),
        expected.map(({ delivery_id }) => delivery_id),
        `${fromMinute} ${minutes}`,
      );
    }
    const all = { userId: 1, hookId: 1, from: 0, until: 20_000 * MINUTE };
    assert.equal((await findDeliveriesOfInterval(view, all, 7)).length, 7);
    assert.deepEqual(await findDeliveriesOfInterval(view, { ...all, userId: 99, hookId: 99 }, 7), []);
  });
}
