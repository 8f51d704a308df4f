import assert from 'node:assert/strict';
import { test as plain } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';
import { type ClockState, INITIAL_CLOCK_STATE, observeClock, RetentionClock } from './retention-clock.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.UTC(2026, 0, 1);

const trusted: ClockState = { trustedTime: NOW, observedAt: NOW, jumpMs: 0, jumpSeenAt: 0, runningSinceJumpMs: 0 };

/** Runs a service that observes the clock every hour. `aheadMs` is how far its clock is ahead in each hour. */
function run(known: ClockState, from: number, aheadMs: readonly number[]): ClockState {
  return aheadMs.reduce((last, ahead, hour) => observeClock(last, from + (hour + 1) * HOUR_MS + ahead, HOUR_MS), known);
}
const hours = (count: number, aheadMs: number) => Array<number>(count).fill(aheadMs);

plain('C23 trusted time advances with the running time of a service', () => {
  assert.equal(run(trusted, NOW, hours(1_000, 0)).trustedTime, NOW + 1_000 * HOUR_MS);
});

plain('C23 a forward jump does not advance trusted time, and correcting the clock undoes it', () => {
  for (const aheadMs of [1_000, HOUR_MS, 400 * DAY_MS]) {
    const ahead = run(trusted, NOW, hours(23, aheadMs));
    assert.equal(ahead.trustedTime, NOW + 23 * HOUR_MS, String(aheadMs));
    const right = run(ahead, NOW + 23 * HOUR_MS, hours(100, 0));
    assert.equal(right.trustedTime, NOW + 123 * HOUR_MS, String(aheadMs));
  }
});

plain('C23 at a start, neither the time since the last observation nor the clock advances trusted time', () => {
  const starts = Array.from({ length: 20 }, (_, index) => NOW + (index + 1) * 400 * DAY_MS);
  const known = starts.reduce((last, now) => observeClock(last, now, 10_000), trusted);
  assert.equal(known.trustedTime, NOW + starts.length * 10_000);
  assert.equal(
    observeClock(INITIAL_CLOCK_STATE, NOW, 0).trustedTime,
    0,
    'nothing is dropped from a database that is new to it',
  );
});

plain('C23 a clock jump is trusted after a service has run for a day since', () => {
  const start = observeClock(trusted, NOW + 60 * DAY_MS, 0);
  assert.equal(run(start, NOW + 60 * DAY_MS, hours(23, 0)).trustedTime, NOW + 23 * HOUR_MS);
  assert.equal(run(start, NOW + 60 * DAY_MS, hours(24, 0)).trustedTime, NOW + 61 * DAY_MS);
  const fresh = observeClock(INITIAL_CLOCK_STATE, NOW, 0);
  assert.equal(run(fresh, NOW, hours(24, 0)).trustedTime, NOW + DAY_MS);
});

plain('C23 a second jump does not make the first one trusted sooner', () => {
  const once = run(trusted, NOW, hours(5, 30 * DAY_MS));
  const twice = run(once, NOW + 5 * HOUR_MS, hours(18, 400 * DAY_MS));
  assert.equal(twice.trustedTime, NOW + 23 * HOUR_MS);
});

plain('C23 trusted time is never ahead of the clock', () => {
  const back = observeClock(trusted, NOW - 10 * DAY_MS, HOUR_MS);
  assert.equal(back.trustedTime, NOW - 10 * DAY_MS);
});

for (const { test, database } of everyStore) {
  test('C23 a monotonic clock with fractions of milliseconds works', async (t) => {
    const store = await openStoreAt(t, await database(t));
    let elapsedMs = 0.265_049;
    const clock = { ...createTestClock(), now: () => NOW, monotonic: () => elapsedMs };
    const node = new RetentionClock({ store, clock });
    elapsedMs += 10_000.7;
    assert.equal(await node.observeTrustedTime(), 10_001);
  });

  test('C23 several services on one database count the same time once, and the state survives their restarts', async (t) => {
    const address = await database(t);
    const clock = createTestClock(NOW);
    const store = await openStoreAt(t, address);
    t.after(() => store.close());
    const [one, other] = [new RetentionClock({ store, clock }), new RetentionClock({ store, clock })];
    const look = async (nodes: readonly RetentionClock[], times: number) => {
      let at = 0;
      for (let count = 0; count < times; count += 1) {
        await clock.advance(HOUR_MS);
        for (const node of nodes) at = await node.observeTrustedTime();
      }
      return at;
    };
    assert.equal(await one.observeTrustedTime(), 0);
    assert.equal(await other.observeTrustedTime(), 0);
    assert.equal(await look([one, other], 24), NOW + DAY_MS);
    clock.jump(400 * DAY_MS);
    assert.equal(await look([one, other], 23), NOW + DAY_MS + 23 * HOUR_MS);
    const restarted = new RetentionClock({ store, clock });
    assert.equal(await restarted.observeTrustedTime(), NOW + DAY_MS + 23 * HOUR_MS);
    clock.jump(-400 * DAY_MS);
    assert.equal(await look([one, restarted], 25), NOW + 3 * DAY_MS);
  });
}
