import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { openAt } from '../harness/database.ts';
import { eventually } from '../harness/eventually.ts';
import { compareLedgers, newestEvent, type Owed, repeatedIn, startLoad } from '../harness/load.ts';
import { nodesOn, owedNow, ownersOf, processBeside } from '../harness/nodes.ts';
import { shared } from '../harness/stores.ts';
import { startTarget } from '../harness/target.ts';

for (const { test, serviceProcess, database: newDatabase } of shared) {
  const ROUNDS = 5;
  const HOOKS = 6;

  /** A silent node would be waited for so long: what a kill takes is to be far below it. */
  const SILENT_MS = 8_000;
  const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

  test('C20 of two nodes under load one is killed, over and over: its lanes go on at the other, nothing is lost, told twice is only what was in flight', async (t) => {
    const database = await newDatabase(t);
    let alone = await serviceProcess(t, { CARILLON_DATABASE: database });
    const store = await openAt(t, database, { as: 'command' });
    // So that there is always something in flight to be killed.
    const target = await startTarget(t, (response) => void setTimeout(() => response.end(), 10));
    const load = startLoad(t, [alone.carillon], 2);
    const hooks: Owed[] = [];
    const inFlight = new Set<string>();
    const tookMs: number[] = [];

    for (let round = 0; round < ROUNDS; round += 1) {
      const dies = alone;
      const paths = Array.from({ length: HOOKS }, (_, index) => `/${round}-${index}`);
      const first = (await newestEvent(store)) + 1;
      const own = paths.map((path) => ({ path, first, last: Number.POSITIVE_INFINITY }));
      hooks.push(...own);
      const ids: string[] = [];
      for (const path of paths) {
        ids.push((await dies.carillon.hooks.create({ target_url: target.at(path), event: 'new_event' })).id);
      }
      await dies.carillon.events.create(event);
      const [doomed] = await nodesOn(store);
      await eventually(
        () => ownersOf(store),
        (owners) => ids.every((id) => owners.get(id) === doomed),
      );
      // Only now, so that nobody else can have taken them up.
      const stays = await processBeside(t, dies);
      load.through(stays.carillon);
      load.resume();
      await wait(200 + 60 * round);
      dies.process.kill('SIGKILL');
      const killedAt = performance.now();
      for (const id of await owedNow(store)) inFlight.add(id);
      const goneOn = () =>
        paths.map((path) => {
          const arrivals = target.received.filter((one) => one.path === path);
          // Of what was acknowledged since, which nobody can have sent before.
          return arrivals.find((one) => (load.at.get(new URL(one.resourceUrl).pathname) ?? 0) > killedAt)?.at;
        });
      const firsts = await eventually(goneOn, (all) => all.every((at) => at !== undefined), SILENT_MS + 5_000);
      tookMs.push(...firsts.map((at) => (at ?? 0) - killedAt));
      await load.pause();
      await eventually(
        () => owedNow(store),
        (owed) => owed.size === 0,
        20_000,
      );
      for (const id of ids) await stays.carillon.hooks.delete(id);
      const last = await newestEvent(store);
      for (const hook of own) hook.last = last;
      alone = stays;
    }
    await load.stop();

    const { lost, untold, phantom, repeated } = await compareLedgers(store, load, target, hooks);
    assert.deepEqual(load.failures, [], 'the node that stays answers everything');
    assert.deepEqual(lost, [], 'acknowledged and lost');
    assert.deepEqual(untold, [], 'owed and not told');
    assert.deepEqual(phantom, [], 'told and not there');
    const unexplained = repeatedIn(target).filter((id) => !inFlight.has(id));
    assert.deepEqual(unexplained, [], 'told twice although no kill had left it owed');
    assert.ok(
      Math.max(...tookMs) < SILENT_MS,
      `${Math.max(...tookMs)} ms: no killed node is waited for as a silent one`,
    );
    const sorted = tookMs.toSorted((a, b) => a - b).map(Math.round);
    t.diagnostic(
      `${load.acknowledged.size} events, ${target.received.length} told, ${repeated} twice; ms from the kill to the lane's going on: ${sorted[0]} to ${sorted.at(-1)}, half below ${sorted[sorted.length >> 1]}`,
    );
    assert.equal(await alone.stop('SIGTERM'), 0);
  });

  test('C20 C22 of two nodes one is stopped: its lanes go on at the other at once, also while it waits for a target that hangs', async (t) => {
    const database = await newDatabase(t);
    const stops = await serviceProcess(t, { CARILLON_DATABASE: database, CARILLON_ATTEMPT_TIMEOUT: '60s' });
    const store = await openAt(t, database, { as: 'command' });
    const target = await startTarget(t, (response) => void setTimeout(() => response.end(), 10));
    const hanging: ServerResponse[] = [];
    const hangs = await startTarget(t, (response) => void hanging.push(response));
    const hooks = Array.from({ length: HOOKS }, (_, index) => `/${index}`).map((path) => ({
      path,
      first: 0,
      last: Number.POSITIVE_INFINITY,
    }));
    const ids: string[] = [];
    for (const { path } of hooks) {
      ids.push((await stops.carillon.hooks.create({ target_url: target.at(path), event: 'new_event' })).id);
    }
    await stops.carillon.hooks.create({ target_url: hangs.url, event: 'new_client' });
    await stops.carillon.clients.create({ client_name: 'Patience' });
    await stops.carillon.events.create(event);
    const [leaving] = await nodesOn(store);
    await eventually(
      () => ownersOf(store),
      (owners) => ids.every((id) => owners.get(id) === leaving),
    );
    await hangs.arrived(1);
    // Only now, so that nobody else can have taken them up.
    const stays = await processBeside(t, stops);
    const load = startLoad(t, [stays.carillon], 2);
    load.resume();
    await wait(300);
    const stopped = stops.stop('SIGTERM');
    const stoppedAt = performance.now();
    const owners = await eventually(
      () => ownersOf(store),
      (now) => ids.every((id) => now.get(id) !== leaving && now.get(id) !== 0),
      SILENT_MS,
    );
    const tookMs = performance.now() - stoppedAt;
    assert.ok(ids.every((id) => owners.get(id) !== leaving));
    assert.ok((await nodesOn(store)).includes(leaving ?? 0), 'it is stopping still, for the one that hangs');
    for (const response of hanging) response.end();
    await load.stop();
    assert.equal(await stopped, 0);
    const wholeMs = performance.now() - stoppedAt;
    assert.ok(wholeMs < 10_000, `${wholeMs} ms`);
    await eventually(
      () => owedNow(store),
      (owed) => owed.size === 0,
      10_000,
    );
    const { lost, untold, phantom, repeated } = await compareLedgers(store, load, target, hooks);
    assert.deepEqual({ lost, untold, phantom, repeated }, { lost: [], untold: [], phantom: [], repeated: 0 });
    assert.deepEqual(load.failures, []);
    t.diagnostic(
      `its lanes were the other's after ${Math.round(tookMs)} ms, it was gone after ${Math.round(wholeMs)} ms`,
    );
    assert.equal(await stays.stop('SIGTERM'), 0);
  });
}
