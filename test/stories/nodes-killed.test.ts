import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { openAt } from '../kit/database.ts';
import { eventually } from '../kit/eventually.ts';
import { compareLedgers, createNoted, startLoad } from '../kit/load.ts';
import { nodesOn, ownersOf, pendingNow, processBeside } from '../kit/nodes.ts';
import { shared } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

for (const { test, serviceProcess, database: newDatabase } of shared) {
  const HOOKS = 6;

  /** Time until an unresponsive node is evicted. A clean stop must be far faster. */
  const EVICTION_MS = 8_000;

  test('C20 C22 when one of two nodes is stopped, the other takes its hook queues immediately, even while the first waits for a hanging target', async (t) => {
    const database = await newDatabase(t);
    const stops = await serviceProcess(t, { CARILLON_DATABASE: database, CARILLON_ATTEMPT_TIMEOUT: '60s' });
    const store = await openAt(t, database, { as: 'command' });
    const target = await startTarget(t, (response) => void setTimeout(() => response.end(), 10));
    const hanging: ServerResponse[] = [];
    const hangs = await startTarget(t, (response) => void hanging.push(response));
    const paths = Array.from({ length: HOOKS }, (_, index) => `/${index}`);
    const ids: string[] = [];
    for (const path of paths) {
      ids.push((await stops.carillon.hooks.create({ target_url: target.at(path), event: 'new_event' })).id);
    }
    await stops.carillon.hooks.create({ target_url: hangs.url, event: 'new_client' });
    const earlier = [
      ...(await createNoted(stops.carillon, 'new_client', ['Patience'])),
      ...(await createNoted(stops.carillon, 'new_event', ['First'])),
    ];
    const [leaving] = await nodesOn(store);
    await eventually(
      () => ownersOf(store),
      (owners) => ids.every((id) => owners.get(id) === leaving),
    );
    await hangs.arrived(1);
    // Started only now, so that it cannot have claimed the hook queues.
    const stays = await processBeside(t, stops);
    const load = startLoad(t, [stays.carillon], 2);
    load.resume();
    await wait(300);
    const stopped = stops.stop('SIGTERM');
    const stoppedAt = performance.now();
    const owners = await eventually(
      () => ownersOf(store),
      (now) => ids.every((id) => now.get(id) !== leaving && now.get(id) !== 0),
      EVICTION_MS,
    );
    const tookMs = performance.now() - stoppedAt;
    assert.ok(ids.every((id) => owners.get(id) !== leaving));
    assert.ok(
      (await nodesOn(store)).includes(leaving ?? 0),
      'the node is still stopping, because of the hanging target',
    );
    for (const response of hanging) response.end();
    await load.stop();
    assert.equal(await stopped, 0);
    const wholeMs = performance.now() - stoppedAt;
    assert.ok(wholeMs < 10_000, `${wholeMs} ms`);
    await eventually(
      () => pendingNow(store),
      (pending) => pending.size === 0,
      10_000,
    );
    assert.deepEqual(await compareLedgers(database, { calls: [...earlier, ...load.calls] }, target, { paths }), []);
    assert.deepEqual(load.failures, []);
    t.diagnostic(
      `the other node had its hook queues after ${Math.round(tookMs)} ms, it exited after ${Math.round(wholeMs)} ms`,
    );
    assert.equal(await stays.stop('SIGTERM'), 0);
  });
}
