import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestClock } from '../../test/kit/clock.ts';
import { fc } from '../../test/kit/packages.ts';
import { FairSemaphore, type FairSemaphoreLimits } from './fair-semaphore.ts';

const LIMITS = { maxActive: 2, maxActivePerGroup: 1, maxWaiting: 8, maxWaitingPerGroup: 2 };

/** Starts and ends work of groups on request, and records the order in which it began. */
function setUp(limits: FairSemaphoreLimits = LIMITS) {
  const semaphore = new FairSemaphore<string>(limits);
  const begun: string[] = [];
  const finish = new Map<string, () => void>();
  const start = (group: string, name: string) =>
    semaphore.runWithPermit(group, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => finish.set(name, resolve));
    });
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  return {
    begun,
    settle,
    start,
    async end(name: string) {
      finish.get(name)?.();
      await settle();
    },
  };
}

test('a group has its part of the permits and of the queue; more are refused, and another group begins at once', async () => {
  const { begun, start, end, settle } = setUp();
  const flood = Array.from({ length: 10 }, (_, index) => start('flood', `flood ${index}`));
  const refused = await Promise.allSettled(flood.slice(3));
  assert.deepEqual(
    refused.map((one) => one.status === 'rejected' && one.reason.code),
    Array(7).fill('overloaded'),
  );
  const honest = start('honest', 'honest');
  await settle();
  assert.deepEqual(begun, ['flood 0', 'honest']);
  await end('honest');
  await honest;
  assert.deepEqual(begun, ['flood 0', 'honest'], 'one permit stays free for others');
  for (const name of ['flood 0', 'flood 1', 'flood 2']) await end(name);
  await Promise.all(flood.slice(0, 3));
  assert.deepEqual(begun, ['flood 0', 'honest', 'flood 1', 'flood 2']);
});

test('groups take turns, however many of one are waiting', async () => {
  const { begun, start, end, settle } = setUp({
    maxActive: 1,
    maxActivePerGroup: 1,
    maxWaiting: 8,
    maxWaitingPerGroup: 4,
  });
  const all = [...['a0', 'a1', 'a2', 'a3', 'b0', 'b1', 'c0']].map((name) => start(name.slice(0, 1), name));
  await settle();
  for (const name of ['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3']) await end(name);
  await Promise.all(all);
  assert.deepEqual(begun, ['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3']);
});

test('a call that has waited too long is rejected when its turn comes, and later ones run', async () => {
  const clock = createTestClock();
  const { begun, start, end } = setUp({ maxActive: 2, timeout: { maxWaitMs: 10_000, clock } });
  const first = ['a', 'b'].map((name) => start('group', name));
  assert.deepEqual(begun, ['a', 'b']);
  const late = ['c', 'd'].map((name) => assert.rejects(start('group', name), { code: 'overloaded' }));
  await clock.advance(10_000);
  const inTime = start('group', 'e');
  await clock.advance(1);
  await end('a');
  await Promise.all(late);
  assert.deepEqual(begun, ['a', 'b', 'e']);
  for (const name of ['b', 'e']) await end(name);
  await Promise.all([...first, inTime]);
  const again = ['f', 'g', 'h'].map((name) => start('group', name));
  assert.deepEqual(begun.slice(3), ['f', 'g']);
  for (const name of ['f', 'g', 'h']) await end(name);
  await Promise.all(again);
});

test('work that fails gives its permit back', async () => {
  const semaphore = new FairSemaphore<string>({ ...LIMITS, maxActive: 1 });
  const failing = semaphore.runWithPermit('a', () => Promise.reject(new Error('failed')));
  const next = semaphore.runWithPermit('a', async () => 'ran');
  await assert.rejects(failing, /failed/);
  assert.equal(await next, 'ran');
});

test('whatever comes and goes: no limit is passed, nobody waits while they could run, and all that was taken ends', async () => {
  const limits = { maxActive: 3, maxActivePerGroup: 2, maxWaiting: 6, maxWaitingPerGroup: 3 };
  const step = fc.oneof(
    fc.record({ start: fc.constantFrom('a', 'b', 'c', 'd') }),
    fc.record({ endAt: fc.nat({ max: 7 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { begun, start, end, settle } = setUp(limits);
      const accepted = new Set<string>();
      const ended = new Set<string>();
      const runs: Promise<unknown>[] = [];
      const active = () => begun.filter((name) => !ended.has(name));
      const of = (names: readonly string[], group: string) => names.filter((name) => name.startsWith(group)).length;
      for (const [index, one] of steps.entries()) {
        if ('start' in one) {
          const name = `${one.start}${index}`;
          accepted.add(name);
          runs.push(start(one.start, name).catch(() => accepted.delete(name)));
          await settle();
        } else {
          const name = active()[one.endAt % Math.max(active().length, 1)];
          if (name === undefined) continue;
          ended.add(name);
          await end(name);
        }
        const waiting = [...accepted].filter((name) => !begun.includes(name));
        assert.ok(active().length <= limits.maxActive && waiting.length <= limits.maxWaiting);
        for (const group of ['a', 'b', 'c', 'd']) {
          assert.ok(of(active(), group) <= limits.maxActivePerGroup && of(waiting, group) <= limits.maxWaitingPerGroup);
          const couldRun = active().length < limits.maxActive && of(active(), group) < limits.maxActivePerGroup;
          assert.ok(!couldRun || of(waiting, group) === 0, `${group} waits for nothing`);
        }
      }
      for (let [name] = active(); name !== undefined; [name] = active()) {
        ended.add(name);
        await end(name);
      }
      await Promise.all(runs);
      assert.deepEqual([...ended].sort(), [...accepted].sort());
    }),
  );
});
