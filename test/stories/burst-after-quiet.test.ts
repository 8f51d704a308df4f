import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../kit/eventually.ts';
import { shared } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

const HOOKS = 20;
const BURST = 100;

/** PostgreSQL plans the first five executions for their values, then keeps a generic plan. */
const CUSTOM_PLANS = 6;

/** The number of sequential scans and of index scans of a table. */
async function scansOf(store: Store, table: string) {
  const { rows } = await sql<{ whole: number; led: number }>`
    select seq_scan::int as whole, idx_scan::int as led from pg_stat_user_tables where relname = ${table}`.execute(
    store.read,
  );
  return rows[0] ?? assert.fail(`${table} is a table`);
}

for (const { test, testService } of shared) {
  test('C20 a burst after a quiet time uses indexes, although plans are cached from a time without pending deliveries', async (t) => {
    const target = await startTarget(t);
    const { store, account } = await testService(t);
    const { carillon } = await account('acme.test');
    for (let hook = 0; hook < HOOKS; hook += 1)
      await carillon.hooks.create({ target_url: target.at(`/${hook}`), event: 'new_event' });
    let expected = 0;
    const createAndAwait = async (events: number) => {
      const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };
      await Promise.all(Array.from({ length: events }, () => carillon.events.create(event)));
      expected += events * HOOKS;
      await target.arrived(expected);
      await eventually(
        () => store.read.selectFrom('pending_deliveries').select('delivery_id').limit(1).execute(),
        (rows) => rows.length === 0,
      );
    };
    const scans = () => scansOf(store, 'pending_deliveries');
    await createAndAwait(1);
    // Autovacuum in a quiet time has this effect: the statistics are empty, and every statement is planned again.
    await sql`vacuum analyze pending_deliveries`.execute(store.read);
    for (let turn = 0; turn < CUSTOM_PLANS; turn += 1) await createAndAwait(1);
    const before = await scans();
    await createAndAwait(BURST);
    // PostgreSQL publishes scan counters within a second of the last statement.
    const after = await eventually(scans, ({ led }) => led > before.led + HOOKS);
    assert.equal(after.whole - before.whole, 0, `of ${after.led - before.led} scans of pending deliveries, sequential`);
  });

  test('C20 an idle node scans no table of hooks sequentially, however few hooks there are', async (t) => {
    const { store, account } = await testService(t);
    const { carillon } = await account('acme.test');
    await carillon.hooks.create({ target_url: 'https://hooks.example/1', event: 'new_event' });
    await sql`vacuum analyze hooks`.execute(store.read);
    const afterMoreScans = async (more: number) => {
      const { led } = await scansOf(store, 'hooks');
      return eventually(
        () => scansOf(store, 'hooks'),
        (now) => now.led > led + more,
        20_000,
      );
    };
    const before = await afterMoreScans(CUSTOM_PLANS);
    const after = await afterMoreScans(4 * CUSTOM_PLANS);
    assert.equal(after.whole - before.whole, 0, `of ${after.led - before.led} scans of hooks, sequential`);
  });
}
