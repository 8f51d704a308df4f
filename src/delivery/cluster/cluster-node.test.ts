import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { sql } from 'kysely';
import { createTestClock } from '../../../test/kit/clock.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { eventuallyAfterSteps } from '../../../test/kit/eventually.ts';
import { readRegisteredNodeIds } from '../../../test/kit/service/nodes.ts';
import { sharedStores } from '../../../test/kit/service/stores.ts';
import { createLog } from '../../log.ts';
import { createAccount } from '../../resources/accounts/actions.ts';
import { systemRandom } from '../../secrets.ts';
import { ClusterNode } from './cluster-node.ts';

const HEARTBEAT_INTERVAL_MS = 200;

for (const { test, database } of sharedStores) {
  /** Starts a node that sends heartbeats when its clock advances. */
  async function startNode(t: TestContext, address: string) {
    const [store, realClock] = [await openStoreAt(t, address), createTestClock()];
    assert.ok(store.clusterSession !== undefined);
    const node = new ClusterNode({
      store,
      clusterSession: store.clusterSession,
      realClock,
      log: createLog('silent'),
      role: 'all',
    });
    await node.joinAsApiOnly();
    return { node, store, beats: realClock };
  }

  /** Starts two nodes and stops one. Returns after how many milliseconds the other node evicts it. */
  async function evictionDelayMs(t: TestContext, isClosed: boolean): Promise<number> {
    const address = await database(t);
    const still = await startNode(t, address);
    const { store, beats } = await startNode(t, address);
    const began = beats.monotonic();
    if (isClosed) await still.store.close();
    await eventuallyAfterSteps(
      () => beats.advance(HEARTBEAT_INTERVAL_MS),
      () => readRegisteredNodeIds(store),
      (nodes) => nodes.length === 1,
      20_000,
    );
    return beats.monotonic() - began;
  }

  test('C20 a node without heartbeat is evicted after a second if its connection is closed', async (t) => {
    const ms = await evictionDelayMs(t, true);
    assert.ok(ms >= 1_100 && ms < 8_000, `${ms}`);
  });

  test('C20 a node without heartbeat is evicted after eight seconds if its connection is open', async (t) => {
    const ms = await evictionDelayMs(t, false);
    assert.ok(ms >= 8_000, `${ms}`);
  });

  test('C20 thousands of leases are released in batches: a claim waits for one batch at most', async (t) => {
    const { node, store } = await startNode(t, await database(t));
    const { account_id, user_id } = await store.write(async (tx) => {
      await createAccount(tx, { domain: 'acme.test', email: 'owner@acme.test' }, 0, systemRandom);
      return tx.queries.selectFrom('users').select(['account_id', 'user_id']).executeTakeFirstOrThrow();
    });
    const row = (index: number) => ({
      ...{ account_id, user_id, events: 'new_event', target: `https://a.test/${index}`, date_created: 0 },
      ...{ lease_owner: node.nodeId, generation: 7, date_ended: index === 1 ? 1 : null },
    });
    const rows = Array.from({ length: 1_201 }, (_, index) => row(index));
    const hooks = await store.write(({ queries }) =>
      queries.insertInto('hooks').values(rows).returning('hook_id').execute(),
    );
    // The first hook was claimed again in the meantime, and the second has ended.
    await node.release(hooks.map(({ hook_id }, index) => ({ hookId: hook_id, generation: index < 2 ? 6 : 7 })));

    const held = await store.read.selectFrom('hooks').select('hook_id').where('lease_owner', '<>', 0).execute();
    assert.deepEqual(held, hooks.slice(0, 1));
    const { rows: commits } = await sql<{ queues: number }>`
      select count(*)::int as queues from hooks where lease_owner = 0 group by xmin::text`.execute(store.read);
    assert.ok(Math.max(...commits.map(({ queues }) => queues)) <= 500, JSON.stringify(commits));
  });
}
