import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { openAt } from '../kit/database.ts';
import { eventually } from '../kit/eventually.ts';
import { compareLedgers, startLoad } from '../kit/load.ts';
import { pendingNow, processBeside } from '../kit/nodes.ts';
import { shared } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

for (const { test, serviceProcess, database: newDatabase } of shared) {
  const TIMES = 8;

  test('C20 when all connections of a node are terminated under load, repeatedly, callers get 2xx or 503, the node recovers and nothing is lost', async (t) => {
    const database = await newDatabase(t);
    // Gives each node its own name in pg_stat_activity.
    const withName = (name: string) => `${database}?application_name=${name}`;
    const node = await serviceProcess(t, { CARILLON_DATABASE: withName('struck') });
    await processBeside(t, node, { CARILLON_DATABASE: withName('other'), CARILLON_ROLE: 'delivery' });
    const store = await openAt(t, database, { as: 'command' });
    const target = await startTarget(t);
    const { id } = await node.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const connections = async () => {
      const { rows } = await sql<{ pid: number; state: string; query: string }>`
        select pid, state, query from pg_stat_activity
        where datname = current_database() and application_name = 'struck'`.execute(store.read);
      return rows;
    };
    const load = startLoad(t, [node.carillon], 8, 0);
    load.resume();
    let ended = 0;
    let inTransaction = 0;
    for (let time = 0; time < TIMES; time += 1) {
      const before = load.acknowledged.size;
      await eventually(
        () => load.acknowledged.size,
        (count) => count >= before + 25,
        10_000,
      );
      const { rows } = await sql<{ state: string }>`
        select state, pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'struck'`.execute(store.read);
      ended += rows.length;
      inTransaction += rows.filter(
        (row) => row.state?.startsWith('idle in transaction') || row.state === 'active',
      ).length;
    }
    await load.pause();
    assert.ok(ended >= TIMES * 2 && inTransaction > 0, `${ended} connections ended, ${inTransaction} at work`);
    const ready = await eventually(
      async () => (await fetch(`${node.baseUrl}/readyz`)).status,
      (status) => status === 200,
    );
    assert.equal(ready, 200);
    assert.deepEqual(
      load.failures.filter((error) => error.status !== 503).map((error) => `${error.status} ${error.message}`),
      [],
      'unexpected responses',
    );
    // The reserved connection of the heartbeat.
    await eventually(connections, (all) => all.some(({ query }) => /^(listen|update "nodes"|select)/i.test(query)));

    // The LISTEN connection is back: an event created by another node is delivered immediately, before the next poll.
    load.resume();
    const before = load.acknowledged.size;
    await eventually(
      () => load.acknowledged.size,
      (count) => count >= before + 10,
    );
    await load.stop();
    await eventually(
      () => pendingNow(store),
      (pending) => pending.size === 0,
      10_000,
    );
    const faults = await compareLedgers(database, load, target, { paths: ['/'] });
    // A node that is cut off for long loses its leases, and its attempts in flight are sent again.
    const { again = [], other = [] } = Object.groupBy(faults, ({ what }) =>
      what === 'unexplained duplicate' ? 'again' : 'other',
    );
    assert.deepEqual(other, []);
    assert.equal((await node.carillon.hooks.get(id)).state, 'live');
    t.diagnostic(
      `${ended} connections ended, ${inTransaction} of them at work; ${load.acknowledged.size} events, ${load.failures.length} answered 503, ${again.length} delivered twice`,
    );
    assert.equal(await node.stop('SIGTERM'), 0);
  });
}
