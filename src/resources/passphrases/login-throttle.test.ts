import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { Problem } from '../../problems.ts';
import { LoginThrottle } from './login-throttle.ts';

const MINUTE_MS = 60_000;
const HERE = '192.0.2.1';
const wrong = async () => false;
const right = async () => true;

function setUp() {
  const clock = createTestClock();
  const throttle = new LoginThrottle(clock);
  /** Begins an attempt and returns its retry delay in seconds; 0 if the attempt is allowed. */
  const waitAt = (who: string, source: string, judge = wrong): number => {
    try {
      void throttle.beginAttempt(who, source).verifyPassphrase(judge);
      return 0;
    } catch (error) {
      assert.ok(error instanceof Problem && error.code === 'too_many_tries');
      return error.retryAfterS ?? Number.NaN;
    }
  };
  return { clock, throttle, waitAt };
}

test('five failed attempts cause no delay; each further one doubles it, up to a quarter of an hour', async () => {
  const { clock, waitAt } = setUp();
  for (let count = 0; count < 5; count += 1) assert.equal(waitAt('one', HERE), 0);
  for (const waitS of [30, 60, 120, 240, 480, 900, 900]) {
    assert.equal(waitAt('one', HERE), waitS);
    await clock.advance((waitS - 1) * 1_000);
    assert.equal(waitAt('one', HERE), 1, 'to the second');
    await clock.advance(1_000);
    assert.equal(waitAt('one', HERE), 0, 'one more try');
  }
});

test('a throttled user may try from another network, and other users from the same one', () => {
  const { waitAt } = setUp();
  for (let count = 0; count < 5; count += 1) waitAt('one', HERE);
  assert.equal(waitAt('one', HERE), 30);
  assert.equal(waitAt('one', '192.0.2.2'), 0);
  assert.equal(waitAt('other', HERE), 0);
});

test('an IPv6 network counts as one source, and a mapped IPv4 address as IPv4', () => {
  const { waitAt } = setUp();
  for (let count = 0; count < 5; count += 1) waitAt('one', `2001:db8:0:1::${count}`);
  assert.equal(waitAt('one', '2001:db8:0:1:ffff::9'), 30);
  assert.equal(waitAt('one', '2001:db8:0:2::1'), 0);
  for (let count = 0; count < 5; count += 1) waitAt('one', `::ffff:192.0.2.1`);
  assert.equal(waitAt('one', HERE), 30);
  assert.equal(waitAt('one', '::ffff:192.0.2.2'), 0);
});

test('a success, or a quarter of an hour without attempts, resets the count', async () => {
  const { clock, throttle, waitAt } = setUp();
  for (let count = 0; count < 4; count += 1) waitAt('one', HERE);
  assert.equal(await throttle.beginAttempt('one', HERE).verifyPassphrase(right), true);
  for (let count = 0; count < 4; count += 1) assert.equal(waitAt('one', HERE), 0);
  await clock.advance(15 * MINUTE_MS);
  for (let count = 0; count < 5; count += 1) assert.equal(waitAt('one', HERE), 0);
  assert.equal(waitAt('one', HERE), 30);
  await clock.advance(15 * MINUTE_MS + 30_000);
  for (let count = 0; count < 5; count += 1) assert.equal(waitAt('one', HERE), 0);
});

test('concurrent attempts all count; attempts whose check throws do not', async () => {
  const { throttle, waitAt } = setUp();
  const busy = async () => {
    throw new Problem('overloaded');
  };
  for (let count = 0; count < 20; count += 1) {
    await assert.rejects(throttle.beginAttempt('one', HERE).verifyPassphrase(busy), { code: 'overloaded' });
  }
  const { promise, resolve } = Promise.withResolvers<boolean>();
  for (let count = 0; count < 5; count += 1) void throttle.beginAttempt('one', HERE).verifyPassphrase(() => promise);
  assert.equal(waitAt('one', HERE), 30, 'before any of them is judged');
  resolve(false);
});

test('ten thousand entries are kept, then the least recently used one is evicted', () => {
  const { waitAt } = setUp();
  for (let count = 0; count < 5; count += 1) waitAt('first', HERE);
  for (let count = 0; count < 9_999; count += 1) waitAt(`nobody ${count}`, HERE);
  assert.equal(waitAt('first', HERE), 30);
  waitAt('one more', HERE);
  assert.equal(waitAt('first', HERE), 0);
});

test('attempts whose check throws never evict other entries', async () => {
  const { throttle, waitAt } = setUp();
  const busy = async () => {
    throw new Problem('overloaded');
  };
  for (let count = 0; count < 5; count += 1) waitAt('one', HERE);
  for (let count = 0; count < 10_001; count += 1) {
    await assert.rejects(throttle.beginAttempt(`nobody ${count}`, HERE).verifyPassphrase(busy), { code: 'overloaded' });
  }
  assert.equal(waitAt('one', HERE), 30);
});
