import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { eventually } from '../harness/eventually.ts';
import { personAt, timesLogged } from '../harness/nodes.ts';
import { shared, stores } from '../harness/stores.ts';
import { startTarget } from '../harness/target.ts';
import { type Trace, tracedAttempt } from '../harness/traced.ts';

const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

/** When the 200 of the DELETE of the hook at a path was here. */
type Ended = { readonly path: string; readonly at: number };

/** C13: answers how many notifications arrived after their 200, all of which were in flight then. */
function nothingBeganAfter(
  ended: readonly Ended[],
  traceOf: (path: string) => Trace,
  received: readonly { path: string; at: number }[],
): number {
  const arrivedAt = Map.groupBy(received, (one) => one.path);
  let inFlight = 0;
  for (const { path, at } of ended) {
    const { begun, dialled } = traceOf(path);
    assert.deepEqual(
      begun.filter((moment) => moment > at),
      [],
      `${path}: an attempt began after the 200`,
    );
    const arrivals = arrivedAt.get(path) ?? [];
    const late = arrivals.filter((one) => one.at > at).length;
    const connected = dialled.filter((moment) => moment <= at).length;
    const arrivedBefore = arrivals.length - late;
    inFlight += late;
    assert.ok(late <= connected - arrivedBefore, `${path}: ${late} arrived after the 200 that were not in flight then`);
  }
  return inFlight;
}

for (const { test, testService } of stores) {
  const ROUNDS = 8;
  const HOOKS = 15;
  const WRITERS = 3;

  test(`C13 ${ROUNDS * HOOKS} hooks deleted in the midst of a stream of events: after the 200 nothing new begins`, async (t) => {
    const { attempt, traceOf } = tracedAttempt();
    const carillon = await testService(t, { ports: { attempt } });
    const owner = await carillon.account('acme.test');
    const target = await startTarget(t);
    const survivor = await owner.carillon.hooks.create({ target_url: target.at('/survivor'), event: 'new_event' });

    let created = 0;
    let writing = true;
    const writers = Array.from({ length: WRITERS }, async () => {
      while (writing) {
        await owner.carillon.events.create(event);
        created += 1;
      }
    });
    const ended: Ended[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const paths = Array.from({ length: HOOKS }, (_, index) => `/${round}-${index}`);
      await Promise.all(
        paths.map(async (path, index) => {
          const { id } = await owner.carillon.hooks.create({ target_url: target.at(path), event: 'new_event' });
          await eventually(
            () => traceOf(path).begun.length,
            (count) => count > 0,
          );
          for (let turns = 0; turns < index % 7; turns += 1) await turn();
          await owner.carillon.hooks.delete(id);
          ended.push({ path, at: performance.now() });
        }),
      );
    }
    writing = false;
    await Promise.all(writers);
    await owner.carillon.events.create(event);
    await eventually(
      () => owner.carillon.deliveries.list({ hook_id: survivor.id, limit: 1, state: 'delivered' }),
      ({ paging }) => paging.total_records === created + 1,
      20_000,
    );
    await carillon.stop();

    assert.equal(ended.length, ROUNDS * HOOKS);
    const inFlight = nothingBeganAfter(ended, traceOf, target.received);
    t.diagnostic(`${created} events, ${target.received.length} notifications, ${inFlight} in flight at a 200`);
  });
}

for (const { test, testService, database: newDatabase } of shared) {
  const ROUNDS = 21;
  const HOOKS = 24;

  for (const listen of ['on', 'off'] as const) {
    // Without LISTEN a node hears of an end with its next beat alone: fewer rounds take as long.
    const rounds = listen === 'on' ? ROUNDS : 4;
    test(`C13 ${rounds * HOOKS} hooks made at one node and deleted at another, LISTEN ${listen}: after the 200 neither begins anything`, async (t) => {
      const database = `${await newDatabase(t)}?listen=${listen}`;
      const { attempt, traceOf } = tracedAttempt();
      const one = await testService(t, { database, ports: { attempt } });
      const other = await testService(t, { database, ports: { attempt } });
      const here = await one.account('acme.test');
      const there = personAt(other, here);
      const target = await startTarget(t);

      let created = 0;
      let writing = true;
      const writers = [here, there].map(async ({ carillon }) => {
        while (writing) {
          await carillon.events.create(event);
          created += 1;
        }
      });
      const ended: Ended[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const paths = Array.from({ length: HOOKS }, (_, index) => `/${round}-${index}`);
        await Promise.all(
          paths.map(async (path, index) => {
            const [maker, remover] = index % 4 === 0 ? [there, here] : [here, there];
            const { id } = await maker.carillon.hooks.create({ target_url: target.at(path), event: 'new_event' });
            // Half of them while their lane is on its way to a node for the first time.
            if (index % 2 === 0) {
              await eventually(
                () => traceOf(path).begun.length,
                (count) => count > 0,
              );
            }
            for (let turns = 0; turns < index % 7; turns += 1) await turn();
            await remover.carillon.hooks.delete(id);
            ended.push({ path, at: performance.now() });
          }),
        );
      }
      writing = false;
      await Promise.all(writers);
      await Promise.all([one.stop(), other.stop()]);

      assert.equal(ended.length, rounds * HOOKS);
      const inFlight = nothingBeganAfter(ended, traceOf, target.received);
      assert.deepEqual(
        [one, other].map((node) => timesLogged(node, 'node.taken_away')),
        [0, 0],
      );
      t.diagnostic(`${created} events, ${target.received.length} notifications, ${inFlight} in flight at a 200`);
    });
  }
}
