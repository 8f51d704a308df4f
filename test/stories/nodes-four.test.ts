import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { openAt } from '../kit/database.ts';
import { eventually } from '../kit/eventually.ts';
import { compareLedgers, crashNow, startLoad } from '../kit/load.ts';
import { nodesOn, pendingNow, processBeside } from '../kit/nodes.ts';
import { shared } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';
import type { Crash } from '../reliability/checker/history.ts';

for (const { test, serviceProcess, database: newDatabase } of shared) {
  const HOOKS_PER_NODE = 3;

  test('C20 of four nodes under load two are killed and one is paused: the fourth delivers everything, and the paused one rejoins', async (t) => {
    const database = await newDatabase(t);
    const first = await serviceProcess(t, { CARILLON_DATABASE: database });
    const others = await Promise.all([1, 2, 3].map(() => processBeside(t, first)));
    const nodes = [first, ...others];
    const [killed, paused, alsoKilled, stays] = nodes;
    assert.ok(killed && paused && alsoKilled && stays);
    const store = await openAt(t, database, { as: 'command' });
    const target = await startTarget(t, (response) => void setTimeout(() => response.end(), 10));
    const paths: string[] = [];
    for (const [number, node] of nodes.entries()) {
      for (let index = 0; index < HOOKS_PER_NODE; index += 1) {
        const path = `/${number}-${index}`;
        await node.carillon.hooks.create({ target_url: target.at(path), event: 'new_event' });
        paths.push(path);
      }
    }
    assert.equal((await nodesOn(store)).length, 4);
    const load = startLoad(
      t,
      nodes.map((node) => node.carillon),
      4,
    );
    load.resume();
    await wait(500);

    const crashes: Crash[] = [];
    const recordCrash = async () => void crashes.push(await crashNow(store, target));
    // Redirect the load first: errors of a killed process are not under test.
    load.through(stays.carillon);
    await load.pause();
    load.resume();
    killed.process.kill('SIGKILL');
    await recordCrash();
    paused.process.kill('SIGSTOP');
    await recordCrash();
    await wait(300);
    alsoKilled.process.kill('SIGKILL');
    await recordCrash();
    await eventually(
      () => nodesOn(store),
      (left) => left.length === 1,
      15_000,
    );
    await recordCrash();
    paused.process.kill('SIGCONT');
    await eventually(
      () => nodesOn(store),
      (now) => now.length === 2,
      10_000,
    );
    await wait(300);
    await load.stop();
    await eventually(
      () => pendingNow(store),
      (pending) => pending.size === 0,
      20_000,
    );

    assert.deepEqual(await compareLedgers(database, load, target, { paths, crashes }), []);
    assert.deepEqual(load.failures, []);
    t.diagnostic(`${load.acknowledged.size} events, ${target.received.length} delivered`);
    assert.deepEqual(await Promise.all([paused.stop('SIGTERM'), stays.stop('SIGTERM')]), [0, 0]);
  });
}
