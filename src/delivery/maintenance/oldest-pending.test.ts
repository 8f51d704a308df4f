import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { insertRows } from '../../../test/kit/service/full-accounts.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';
import { findOldestPending, selectOldestOfQueues } from './oldest-pending.ts';

for (const { name, test, database } of everyStore) {
  test('X6 X13 the oldest pending delivery is found by index lookups beside the large backlog of a disabled hook', async (t) => {
    const store = await openStoreAt(t, await database(t));
    await insertRows(store, 'accounts', [{ account_id: 1, domain: 'acme.test' }]);
    await insertRows(store, 'users', [{ account_id: 1, user_id: 1, email: 'owner@acme.test' }]);
    const place = { account_id: 1, user_id: 1, kind: 'new_client' };
    const hooks = Array.from({ length: 2_500 }, (_, index) => ({
      ...{ ...place, hook_id: 1_000 + index, target: `http://127.0.0.1:9/${index}` },
      // The first is disabled, and the second has ended.
      ...{ enabled: index === 0 ? 0 : 1, date_ended: index === 1 ? 1 : null },
    }));
    const backlog = Array.from({ length: 50_000 }, (_, index) => ({
      ...{ ...place, hook_id: 1_000, delivery_id: 1 + index, position: index, record_id: 1, created_at: 1 },
    }));
    const pending = hooks.slice(1).map(({ hook_id }, index) => ({
      ...{ ...place, hook_id, delivery_id: 100_000 + index, position: 1, record_id: 1 },
      created_at: index === 0 ? 2 : 10_000 - index,
    }));
    await insertRows(store, 'hooks', hooks);
    assert.equal(await findOldestPending(store.read), undefined);
    await insertRows(store, 'pending_deliveries', [...backlog, ...pending]);
    assert.equal(await findOldestPending(store.read), 10_000 - 2_498);
    if (name !== 'SQLite') return;
    const { rows: plan } = await sql<{ detail: string }>`explain query plan ${selectOldestOfQueues(0)}`.execute(
      store.read,
    );
    const tables = plan.map(({ detail }) => detail).filter((detail) => /pending_deliveries|hooks/.test(detail));
    assert.ok(tables.length >= 3);
    for (const detail of tables) assert.match(detail, /^SEARCH /);
  });
}
