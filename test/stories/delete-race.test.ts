import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { systemClock } from '../../src/clock.ts';
import { type Attempt, createAttempt } from '../../src/delivery/attempt.ts';
import { createGuard } from '../../src/delivery/guard.ts';
import { eventually } from '../harness/eventually.ts';
import { stores } from '../harness/stores.ts';
import { startTarget } from '../harness/target.ts';

for (const { test, testService } of stores) {
  const ROUNDS = 8;
  const HOOKS = 15;
  const WRITERS = 3;
  const event = { event_name: 'Tick', start_date: '20270101', due_date: '20270101' };

  /** What is known of one hook's attempts: when each was begun, and when it was connected. */
  type Trace = { begun: number[]; dialled: number[] };

  test(`C13 ${ROUNDS * HOOKS} hooks deleted in the midst of a stream of events: after the 200 nothing new begins`, async (t) => {
    const traces = new Map<string, Trace>();
    const traceOf = (path: string): Trace => {
      const trace = traces.get(path) ?? { begun: [], dialled: [] };
      traces.set(path, trace);
      return trace;
    };
    const guard = createGuard({
      resolve: async () => ({ failure: 'no_such_name' }),
      allow: [],
      loopbackAllowed: true,
    });
    const real = createAttempt({ guard, userAgent: 'Carillon/test', clock: systemClock });
    const attempt: Attempt = (order) => {
      const trace = traceOf(new URL(order.target).pathname);
      trace.begun.push(performance.now());
      const onDialled = () => {
        trace.dialled.push(performance.now());
        order.onDialled?.();
      };
      return real({ ...order, onDialled });
    };
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
    const ended: { path: string; at: number }[] = [];
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
    const arrivedAt = Map.groupBy(target.received, (one) => one.path);
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
      assert.ok(
        late <= connected - arrivedBefore,
        `${path}: ${late} arrived after the 200 that were not in flight then`,
      );
    }
    t.diagnostic(`${created} events, ${target.received.length} notifications, ${inFlight} in flight at a 200`);
  });
}
