import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { createTestClock } from '../../test/kit/clock.ts';
import { PollLoop } from './poll-loop.ts';

/** Creates a loop with an interval of a second, whose turns the test can hold and let fail. */
function createLoop() {
  const clock = createTestClock();
  const turns: number[] = [];
  const errors: unknown[] = [];
  const state: { error: Error | undefined; hold: PromiseWithResolvers<void> | undefined } = {
    error: undefined,
    hold: undefined,
  };
  const loop = new PollLoop({
    clock,
    intervalMs: 1_000,
    async runTurn() {
      turns.push(clock.monotonic());
      await state.hold?.promise;
      if (state.error !== undefined) throw state.error;
    },
    onTurnFailed: (error) => errors.push(error),
  });
  const holdTurns = () => {
    const hold = Promise.withResolvers<void>();
    state.hold = hold;
    return async () => {
      state.hold = undefined;
      hold.resolve();
      await nextIteration();
    };
  };
  return { clock, loop, turns, errors, state, holdTurns };
}

test('turns run at an interval, from the end of a turn to the next one', async () => {
  const { clock, loop, turns, holdTurns } = createLoop();
  loop.start(300);
  loop.start(100);
  await clock.advance(2_000);
  assert.deepEqual(turns, [300, 1_300]);
  const endTurn = holdTurns();
  await clock.advance(5_000);
  assert.deepEqual(turns, [300, 1_300, 2_300]);
  await endTurn();
  await clock.advance(999);
  assert.equal(turns.length, 3);
  await clock.advance(1);
  assert.deepEqual(turns, [300, 1_300, 2_300, 8_000]);
});

test('startNow runs the first turn without a timer and waits for it', async () => {
  const { clock, loop, turns, errors, state } = createLoop();
  state.error = new Error('the database is away');
  await loop.startNow();
  assert.deepEqual(turns, [0]);
  assert.deepEqual(errors, [state.error]);
  assert.deepEqual(clock.remainingDelaysMs, [1_000]);
});

test('a failed turn is reported and the loop goes on', async () => {
  const { clock, loop, turns, errors, state } = createLoop();
  state.error = new Error('the database is away');
  loop.start();
  await clock.advance(1_500);
  assert.deepEqual(errors, [state.error]);
  state.error = undefined;
  await clock.advance(1_500);
  assert.deepEqual(turns, [1_000, 2_000, 3_000]);
  assert.equal(errors.length, 1);
});

test('wake runs a turn now, or once more after the running turn', async () => {
  const { clock, loop, turns, holdTurns } = createLoop();
  await loop.wake();
  assert.equal(turns.length, 0, 'a loop that is not started has no turns');
  loop.start();
  await clock.advance(400);
  await loop.wake();
  assert.deepEqual(turns, [400]);
  assert.deepEqual(clock.remainingDelaysMs, [1_000]);
  const endTurn = holdTurns();
  for (let count = 0; count < 3; count += 1) void loop.wake();
  await nextIteration();
  assert.equal(turns.length, 2);
  void loop.wake();
  await endTurn();
  assert.equal(turns.length, 3, 'wakes during a turn cause one more turn');
  assert.deepEqual(clock.remainingDelaysMs, [1_000]);
});

test('stop waits for the running turn, and no turn runs afterwards', async () => {
  const { clock, loop, turns, holdTurns } = createLoop();
  loop.start();
  const endTurn = holdTurns();
  await clock.advance(1_000);
  void loop.wake();
  let isStopped = false;
  const stop = loop.stop().then(() => {
    isStopped = true;
  });
  await nextIteration();
  assert.equal(isStopped, false);
  await endTurn();
  await stop;
  assert.deepEqual(clock.remainingDelaysMs, []);
  await loop.wake();
  assert.deepEqual(turns, [1_000]);
  loop.start();
  await loop.stop();
  assert.deepEqual(clock.remainingDelaysMs, [], 'the timer of the next turn is cancelled');
});

test('a stopped loop can be started again, even during its last turn, with one timer', async () => {
  const { clock, loop, turns, holdTurns } = createLoop();
  loop.start();
  const endTurn = holdTurns();
  await clock.advance(1_000);
  void loop.stop();
  loop.start();
  assert.deepEqual(clock.remainingDelaysMs, []);
  await endTurn();
  assert.deepEqual(clock.remainingDelaysMs, [1_000]);
  await clock.advance(1_000);
  assert.deepEqual(turns, [1_000, 2_000]);
  await loop.stop();
  loop.start(10);
  await clock.advance(10);
  assert.deepEqual(turns, [1_000, 2_000, 2_010]);
});
