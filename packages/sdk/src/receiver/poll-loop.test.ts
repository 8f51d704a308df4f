import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { callAfter } from '../runtime.ts';
import { coalesceRuns, createPollLoop } from './poll-loop.ts';

test('polls are periodic; after a failure they are retried with a backoff of up to a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let pollCount = 0;
  let succeeds = true;
  const watching = createPollLoop(async () => {
    pollCount += 1;
    if (!succeeds) throw new Error('not now');
  }, 300_000);
  /** Whether the next poll happens after exactly this time, and not earlier. */
  async function pollsAfter(waitMs: number): Promise<boolean> {
    const before = pollCount;
    t.mock.timers.tick(waitMs - 1);
    const early = pollCount - before;
    t.mock.timers.tick(1);
    await turn();
    return early === 0 && pollCount === before + 1;
  }
  watching.pollSoon();
  t.mock.timers.tick(1_000_000);
  assert.equal(pollCount, 0, 'none before it has begun');
  watching.start();
  assert.ok(await pollsAfter(300_000));
  succeeds = false;
  assert.ok(await pollsAfter(300_000));
  for (const waitS of [2, 4, 8, 16, 32, 60, 60]) assert.ok(await pollsAfter(waitS * 1_000), `${waitS} s`);
  succeeds = true;
  assert.ok(await pollsAfter(60_000));
  watching.pollSoon();
  t.mock.timers.tick(500);
  watching.pollSoon();
  assert.ok(await pollsAfter(500), 'what is due soon is not put off');
  watching.stop();
  t.mock.timers.tick(1_000_000);
  await turn();
  assert.equal(pollCount, 11);
});

test('polls never overlap; a failure during a poll causes another one soon', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const polls: PromiseWithResolvers<void>[] = [];
  const watching = createPollLoop(() => {
    const one = Promise.withResolvers<void>();
    polls.push(one);
    return one.promise;
  }, 0);
  watching.start();
  watching.pollSoon();
  for (let second = 0; second < 3_600; second += 1) {
    t.mock.timers.tick(1_000);
    watching.pollSoon();
  }
  assert.equal(polls.length, 1);
  polls[0]?.resolve();
  await turn();
  t.mock.timers.tick(1_000);
  assert.equal(polls.length, 2, 'nothing that went wrong is forgotten');
  polls[1]?.resolve();
  await turn();
  t.mock.timers.tick(1_000_000);
  assert.equal(polls.length, 2);
});

test('an interval beyond the timer limit is clamped, and does not fire immediately', (t) => {
  const waits: unknown[] = [];
  t.mock.method(globalThis, 'setTimeout', (_: () => void, waitMs: number) => waits.push(waitMs));
  callAfter(2 ** 40, () => undefined);
  assert.deepEqual(waits, [2 ** 31 - 1]);
});

test('a caller gets a run that begins after the call; calls during a run share the next one', async () => {
  const begun: PromiseWithResolvers<void>[] = [];
  const round = coalesceRuns(() => {
    const one = Promise.withResolvers<void>();
    begun.push(one);
    return one.promise;
  });
  const over: string[] = [];
  const ask = (name: string) =>
    round.requestRun().then(
      () => over.push(name),
      (error: Error) => over.push(`${name}: ${error.message}`),
    );
  const first = ask('a');
  await Promise.resolve();
  assert.equal(begun.length, 1);
  const later = [ask('b'), ask('c')];
  begun[0]?.reject(new Error('broken'));
  await first;
  assert.deepEqual([begun.length, over], [2, ['a: broken']]);
  begun[1]?.resolve();
  await Promise.all(later);
  await round.waitForActiveRun();
  assert.deepEqual([begun.length, over], [2, ['a: broken', 'b', 'c']]);
});
