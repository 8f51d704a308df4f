import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { Tarpit } from '../errors/tarpit.ts';
import { TokenBuckets } from './rate-limits.ts';

test('a full bucket allows a burst, then one call for each refilled token', async () => {
  const clock = createTestClock();
  const buckets = new TokenBuckets<string>({ count: 3, windowSeconds: 60 }, clock);
  for (const left of [3, 2, 1]) {
    assert.deepEqual([buckets.levelOf('a').availableTokens, buckets.levelOf('a').waitMs], [left, 0]);
    buckets.takeToken('a');
  }
  assert.deepEqual(buckets.levelOf('a'), { availableTokens: 0, waitMs: 20_000, untilFullMs: 60_000 });
  assert.equal(buckets.levelOf('b').availableTokens, 3, 'another one is as full as ever');
  await clock.advance(19_999);
  assert.equal(buckets.levelOf('a').availableTokens, 0);
  await clock.advance(1);
  assert.deepEqual(buckets.levelOf('a'), { availableTokens: 1, waitMs: 0, untilFullMs: 40_000 });
  await clock.advance(10 * 60_000);
  assert.deepEqual(
    buckets.levelOf('a'),
    { availableTokens: 3, waitMs: 0, untilFullMs: 0 },
    'and never more than it holds',
  );
});

test('beyond 50,000 buckets only the least recently used one is evicted', () => {
  const buckets = new TokenBuckets<number>({ count: 1, windowSeconds: 60 }, createTestClock());
  for (let name = 0; name < 50_000; name += 1) buckets.takeToken(name);
  buckets.takeToken(0);
  buckets.takeToken(50_000);
  assert.deepEqual(
    [0, 1, 2].map((name) => buckets.levelOf(name).availableTokens),
    [0, 1, 0],
  );
});

test('rejections beyond the rate are delayed up to the maximum, and other names are not', async () => {
  const clock = createTestClock();
  const tarpit = new Tarpit<string>({ clock, rate: { count: 2, windowSeconds: 2 }, maxDelayMs: 3_000 });
  const answered: number[] = [];
  const hold = (number: number, name = 'a') => {
    const waiting = tarpit.delay(name, () => undefined);
    void waiting?.then(() => answered.push(number));
    return waiting === undefined;
  };
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8].map((number) => hold(number)),
    [true, true, ...Array(6).fill(false)],
  );
  assert.ok(hold(9, 'b'));
  await clock.advance(1_000);
  assert.deepEqual(answered, [3]);
  await clock.advance(1_000);
  assert.deepEqual(answered, [3, 4]);
  await clock.advance(1_000);
  assert.deepEqual(answered, [3, 4, 5, 6, 7, 8], 'no delay is longer');
  assert.deepEqual(clock.remainingDelaysMs, []);
});

test('at most a thousand responses are delayed; a disconnect or a stop ends the delay', () => {
  const clock = createTestClock();
  const slowdown = new Tarpit<string>({ clock, rate: { count: 1, windowSeconds: 60 }, maxDelayMs: 10_000 });
  const ends: (() => void)[] = [];
  const isHeld = () => slowdown.delay('a', (end) => ends.push(end)) !== undefined;
  assert.equal(isHeld(), false);
  for (let number = 0; number < 1_000; number += 1) assert.equal(isHeld(), true);
  assert.equal(isHeld(), false, 'there is no room to wait');
  ends[0]?.();
  assert.equal(isHeld(), true);
  slowdown.stop();
  assert.deepEqual(clock.remainingDelaysMs, []);
});
