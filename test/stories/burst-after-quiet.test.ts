import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../kit/eventually.ts';
import { shared } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

const HOOKS = 20;
const BURST = 100;

/** So often a statement is planned for its values; then its plan is kept. */
const PLANNED = 6;

/** How often a table was read as a whole, and how often by an index. */
async function scansOf(store: Store, table: string) {
  const { rows } = await sql<{ whole: number; led: number }>`
    select seq_scan::int as whole, idx_scan::int as led from pg_stat_user_tables where relname = ${table}`.execute(
    store.read,
  );
  return rows[0] ?? assert.fail(`${table} is a table`);
}

for (const { test, testService } of shared) {
  test('C20 a burst after a quiet time is told by index, although the plans that are kept are of a time when nothing was pending', async (t) => {
    const target = await startTarget(t);
    const { store, account } = await testService(t);
    const { carillon } = await account('acme.test');
    for (let hook = 0; hook < HOOKS; hook += 1)
      await carillon.hooks.create({ target_url: target.at(`/${hook}`), event: 'new_event' });
    let told = 0;
    const tell = async (events: number) => {
      const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };
      await Promise.all(Array.from({ length: events }, () => carillon.events.create(event)));
      told += events * HOOKS;
      await target.arrived(told);
      await eventually(
        () => store.read.selectFrom('pending_deliveries').select('delivery_id').limit(1).execute(),
        (rows) => rows.length === 0,
      );
    };
    const scans = () => scansOf(store, 'pending_deliveries');
    await tell(1);
    // What the vacuum that comes by itself finds in a quiet time, and every plan is made anew.
    await sql`vacuum analyze pending_deliveries`.execute(store.read);
    for (let turn = 0; turn < PLANNED; turn += 1) await tell(1);
    const before = await scans();
    await tell(BURST);
    // A connection says what it has scanned within a second of its last statement.
    const after = await eventually(scans, ({ led }) => led > before.led + HOOKS);
    assert.equal(after.whole - before.whole, 0, `of ${after.led - before.led} looks into what is pending, whole ones`);
  });

  test('C20 a node that has nothing to do reads no whole table of hooks, however few there are', async (t) => {
    const { store, account } = await testService(t);
    const { carillon } = await account('acme.test');
    await carillon.hooks.create({ target_url: 'https://hooks.example/1', event: 'new_event' });
    await sql`vacuum analyze hooks`.execute(store.read);
    const looked = async (more: number) => {
      const { led } = await scansOf(store, 'hooks');
      return eventually(
        () => scansOf(store, 'hooks'),
        (now) => now.led > led + more,
        20_000,
      );
    };
    const before = await looked(PLANNED);
    const after = await looked(4 * PLANNED);
    assert.equal(after.whole - before.whole, 0, `of ${after.led - before.led} looks into the hooks, whole ones`);
  });
}
