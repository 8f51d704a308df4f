import assert from 'node:assert/strict';
import { openAt } from '../kit/database.ts';
import { eventually } from '../kit/eventually.ts';
import { compareLedgers, createNoted, repeatedIn, startLoad } from '../kit/load.ts';
import { nodesOn, ownersOf, pendingNow, personAt, timesLogged } from '../kit/nodes.ts';
import { startProxy } from '../kit/proxy.ts';
import { shared } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';
import { tracedAttempt } from '../kit/traced.ts';

for (const { test, testService, database: newDatabase } of shared) {
  const HOOKS = 4;
  const BACKLOG = 60;

  /** A node whose heartbeat is older than this starts no attempt. */
  const LEASE_TTL_MS = 1_000;

  test('C13 C20 a node that loses its database connection starts no more attempts; the other continues, and the node rejoins later', async (t) => {
    const database = await newDatabase(t);
    const proxy = await startProxy(t, database);
    const [near, far] = [tracedAttempt(), tracedAttempt()];
    const options = { retryWaits: '3s,3s' };
    const cutOff = await testService(t, { database: proxy.database, options, ports: { attempt: far.attempt } });
    const store = await openAt(t, database, { as: 'command' });
    const there = await cutOff.account('acme.test');
    const target = await startTarget(t, (response) => void setTimeout(() => response.end(), 50));
    const paths = Array.from({ length: HOOKS }, (_, index) => `/${index}`);
    const ids: string[] = [];
    for (const path of paths) {
      ids.push((await there.carillon.hooks.create({ target_url: target.at(path), event: 'new_event' })).id);
    }
    const otherCalls = await createNoted(there.carillon, 'new_event', ['First']);
    const [lost] = await nodesOn(store);
    await eventually(
      () => ownersOf(store),
      (owners) => ids.every((id) => owners.get(id) === lost),
    );
    // Started only now, so that it cannot have claimed the hook queues.
    const stays = await testService(t, { database, options, ports: { attempt: near.attempt } });
    const owner = personAt(stays, there);
    const backlog = Array.from({ length: BACKLOG }, (_, index) => `Backlog ${index}`);
    otherCalls.push(...(await createNoted(there.carillon, 'new_event', backlog)));

    // The second attempt needs no database when it comes due.
    const fails = await startTarget(t, 500, 200);
    await there.carillon.hooks.create({ target_url: fails.at('/fails'), event: 'new_client' });
    otherCalls.push(...(await createNoted(there.carillon, 'new_client', ['Second chance'])));
    await fails.arrived(1);

    proxy.reset();
    const cutAt = performance.now();
    const inFlight = await pendingNow(store);
    const load = startLoad(t, [owner.carillon], 1, 20);
    load.resume();
    const deleting = owner.carillon.hooks.delete(ids[0] ?? '').then(() => performance.now());
    await eventually(
      () => paths.slice(1).map((path) => near.traceOf(path).begun.length),
      (counts) => counts.every((count) => count > 0),
      15_000,
    );
    const deletedAt = await deleting;
    await load.stop();
    await fails.arrived(2);
    for (const path of ['/fails', ...paths]) {
      const begun = far.traceOf(path).begun;
      const [claimed = Number.POSITIVE_INFINITY] = near.traceOf(path).begun;
      assert.ok((begun.at(-1) ?? 0) <= cutAt + LEASE_TTL_MS, `${path}: an attempt began after the lease had expired`);
      assert.ok((begun.at(-1) ?? 0) <= claimed, `${path}: two nodes delivered concurrently`);
    }
    assert.equal(far.traceOf('/fails').begun.length + near.traceOf('/fails').begun.length, 2);
    const tookMs = Math.max(...paths.slice(1).map((path) => (near.traceOf(path).begun[0] ?? 0) - cutAt));
    assert.ok(tookMs < 15_000, `${tookMs} ms`);
    await eventually(
      () => pendingNow(store),
      (pending) => pending.size === 0,
      10_000,
    );

    proxy.mend();
    const mendedAt = performance.now();
    const [, back] = await eventually(
      () => nodesOn(store),
      (nodes) => nodes.length === 2,
      10_000,
    );
    assert.notEqual(back, lost, 'it rejoins as a new node');
    // Either node may claim a hook queue first. Repeat until this one does.
    let round = 0;
    const claimed = await eventually(
      async () => {
        round += 1;
        const path = `/again-${round}`;
        const { id } = await there.carillon.hooks.create({ target_url: target.at(path), event: 'new_client' });
        otherCalls.push(...(await createNoted(there.carillon, 'new_client', [`Back ${round}`])));
        const begun = (node: typeof far) => node.traceOf(path).begun.length;
        await eventually(
          () => begun(far) + begun(near),
          (count) => count > 0,
        );
        return begun(far) > 0 ? id : undefined;
      },
      (id) => id !== undefined,
    );
    const backMs = performance.now() - mendedAt;
    assert.equal((await ownersOf(store)).get(claimed ?? ''), back);
    assert.equal(timesLogged(cutOff, 'node.evicted'), 1);

    await eventually(
      () => pendingNow(store),
      (pending) => pending.size === 0,
    );
    const late = target.received.filter((one) => one.path === '/0' && one.at > deletedAt);
    assert.deepEqual(late, [], 'nothing goes to the hook after the 200 of its DELETE');
    // Results that the node could not store may be delivered again.
    const crashes = [{ at: cutAt + LEASE_TTL_MS, pending: inFlight, fates: new Map() }];
    const history = { calls: [...otherCalls, ...load.calls] };
    assert.deepEqual(await compareLedgers(database, history, target, { paths: paths.slice(1), crashes }), []);
    assert.deepEqual(load.failures, []);
    t.diagnostic(
      `the hook queues continued after ${Math.round(tookMs)} ms, DELETE returned after ${Math.round(deletedAt - cutAt)} ms; back ${Math.round(backMs)} ms after the connection was restored; ${repeatedIn(target).length} delivered twice`,
    );
  });
}
