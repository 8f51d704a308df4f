import assert from 'node:assert/strict';
import { after } from 'node:test';
import { insertRows } from '../../../test/kit/service/full-accounts.ts';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.account('acme.test');

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
