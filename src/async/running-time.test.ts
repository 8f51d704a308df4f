import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createTestClock } from '../../test/kit/clock.ts';
import { RunningTime } from './running-time.ts';

test('time passes by ticks, and what begins now begins with the next one', async () => {
  const clock = createTestClock();
  const seen: number[] = [];
  const time = new RunningTime(clock, 1_000, () => seen.push(time.runningMs));
  time.start();
  assert.equal(time.runningMsAtNextTick, 1_000);
  await clock.advance(3_500);
  assert.deepEqual([seen, time.runningMs, time.runningMsAtNextTick], [[1_000, 2_000, 3_000], 3_000, 4_000]);
  time.stop();
  await clock.advance(5_000);
  assert.deepEqual([seen.length, clock.remainingDelaysMs], [3, []]);
});

test('a pause of the process counts as two ticks, and deadlines are judged after two turns of the event loop', async () => {
  let now = 0;
  let due: () => void = () => undefined;
  const clock = {
    now: () => now,
    monotonic: () => now,
    after(_: number, run: () => void) {
      due = run;
      return () => undefined;
    },
  };
  const seen: number[] = [];
  const time = new RunningTime(clock, 1_000, () => seen.push(time.runningMs));
  time.start();
  now = 60_000;
  due();
  assert.deepEqual(seen, [], 'data that has arrived is read first');
  await turn();
  assert.deepEqual(seen, []);
  await turn();
  assert.deepEqual(seen, [2_000]);
  now = 61_000;
  due();
  assert.deepEqual(seen, [2_000, 3_000]);
});
