import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { openAt } from '../harness/database.ts';
import { eventually } from '../harness/eventually.ts';
import { compareLedgers, type Owed, repeatedIn, startLoad } from '../harness/load.ts';
import { nodesOn, owedNow, ownersOf, processBeside } from '../harness/nodes.ts';
import { shared } from '../harness/stores.ts';
import { type Notification, startTarget } from '../harness/target.ts';

for (const { test, serviceProcess, database: newDatabase } of shared) {
  const HOOKS = 6;
  const BACKLOG = 80;
  const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

  test('C13 C20 a node that stands still under load is given up; a hook deleted meanwhile stays silent when it wakes, and it works again', async (t) => {
    const database = await newDatabase(t);
    const sleeps = await serviceProcess(t, { CARILLON_DATABASE: database });
    const store = await openAt(t, database, { as: 'command' });
    const target = await startTarget(t, (response) => void setTimeout(() => response.end(), 100));
    const hooks: Owed[] = Array.from({ length: HOOKS }, (_, index) => `/${index}`).map((path) => ({
      path,
      first: 0,
      last: Number.POSITIVE_INFINITY,
    }));
    const ids: string[] = [];
    for (const { path } of hooks) {
      ids.push((await sleeps.carillon.hooks.create({ target_url: target.at(path), event: 'new_event' })).id);
    }
    await sleeps.carillon.events.create(event);
    const [asleep] = await nodesOn(store);
    await eventually(
      () => ownersOf(store),
      (owners) => ids.every((id) => owners.get(id) === asleep),
    );
    // Only now, so that nobody else can have taken them up.
    const stays = await processBeside(t, sleeps);
    const load = startLoad(t, [stays.carillon], 1, 30);
    load.resume();
    // So that it has more to tell, and in its memory, when it wakes.
    await Promise.all(Array.from({ length: BACKLOG }, () => sleeps.carillon.events.create(event)));
    await wait(100);
    sleeps.process.kill('SIGSTOP');
    const pausedAt = performance.now();
    const inFlight = await owedNow(store);
    const goneOn = () =>
      hooks.map(({ path }) =>
        target.received.find(
          (one) => one.path === path && (load.at.get(new URL(one.resourceUrl).pathname) ?? 0) > pausedAt,
        ),
      );
    // C13: asked for while its lane is at the node that stands still.
    const deleting = stays.carillon.hooks.delete(ids[0] ?? '').then(() => performance.now());
    const others = await eventually(goneOn, (all) => all.slice(1).every((one) => one !== undefined), 20_000);
    const tookMs = Math.max(...others.slice(1).map((one) => (one?.at ?? 0) - pausedAt));
    assert.ok(tookMs < 15_000, `${tookMs} ms`);
    const deletedAt = await deleting;
    assert.ok(deletedAt - pausedAt < 15_000, `DELETE took ${deletedAt - pausedAt} ms`);
    const [deleted] = hooks;
    if (deleted !== undefined) deleted.last = -1;

    const wokenAt = performance.now();
    sleeps.process.kill('SIGCONT');
    const [, back] = await eventually(
      () => nodesOn(store),
      (nodes) => nodes.length === 2,
    );
    assert.notEqual(back, asleep, 'it comes back as a new node');
    const again = await sleeps.carillon.hooks.create({ target_url: target.at('/again'), event: 'new_client' });
    await sleeps.carillon.clients.create({ client_name: 'Back' });
    await eventually(
      () => ownersOf(store),
      (owners) => owners.get(again.id) === back,
    );
    await eventually(
      () => target.received.filter((one) => one.path === '/again').length,
      (count) => count === 1,
    );
    await load.stop();
    await eventually(
      () => owedNow(store),
      (owed) => owed.size === 0,
      20_000,
    );

    const late = target.received.filter((one) => one.path === '/0' && one.at > deletedAt);
    assert.deepEqual(late, [], 'nothing goes to the hook after the 200 of its DELETE');
    const isLate = ({ path, at, resourceUrl }: Notification) =>
      path !== '/again' && at > wokenAt && resourceUrl.startsWith(sleeps.baseUrl);
    assert.deepEqual(target.received.filter(isLate), [], 'what it had before it slept is not its own any more');
    const { lost, untold, repeated } = await compareLedgers(store, load, target, hooks.slice(1));
    assert.deepEqual({ lost, untold }, { lost: [], untold: [] });
    const unexplained = repeatedIn(target).filter((id) => !inFlight.has(id));
    assert.deepEqual(unexplained, [], 'told twice although it was not in flight when the node stood still');
    assert.deepEqual(load.failures, []);
    t.diagnostic(
      `the lanes went on ${Math.round(tookMs)} ms after the pause, DELETE answered after ${Math.round(deletedAt - pausedAt)} ms; ${repeated} told twice`,
    );
    assert.deepEqual(await Promise.all([stays.stop('SIGTERM'), sleeps.stop('SIGTERM')]), [0, 0]);
  });
}
