import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  applyDecision,
  countLocalErrorsBefore,
  createHealth,
  type DecidedAttempt,
  type HookHealth,
} from './hook-health.ts';
import type { Decision } from './retry-policy.ts';

const NOW = 1_000_000;
const DELIVERED: Decision = { is: 'delivered' };

const attempt = (changes: Partial<DecidedAttempt> = {}): DecidedAttempt => ({
  deliveryId: 7,
  isManual: false,
  beganAt: NOW - 5,
  outcome: '200',
  ...changes,
});

const healthy: HookHealth = {
  ...createHealth({ failures: 0, dueAt: null, retryDeliveryId: null, lastOutcome: '200' }),
  concurrencyLimit: 3,
};
const failing: HookHealth = {
  ...createHealth({ failures: 1, dueAt: NOW + 60_000, retryDeliveryId: 5, lastOutcome: '500' }),
  failureCountSinceClaim: 1,
};
const paused: HookHealth = { ...healthy, localErrorCount: 2, lastLocalErrorAt: NOW - 1, pausedUntil: NOW + 2_000 };

/** Section 3 of the specification with C18, C19 and C22: how a decision changes the health of a hook. */
const stateTable: readonly {
  readonly row: string;
  readonly from: HookHealth;
  readonly decision: Decision;
  readonly attempt?: Partial<DecidedAttempt>;
  /** The fields that change. */
  readonly changes: Partial<HookHealth>;
}[] = [
  {
    row: 'C22 a 200 of a healthy hook raises the concurrency',
    from: healthy,
    decision: DELIVERED,
    changes: { concurrencyLimit: 4 },
  },
  {
    row: 'C22 the concurrency is at most 8',
    from: { ...healthy, concurrencyLimit: 8 },
    decision: DELIVERED,
    changes: {},
  },
  {
    row: 'C18 a 200 of a failing hook resets its failures and ends the backoff',
    from: failing,
    decision: DELIVERED,
    changes: { stored: { failures: 0, dueAt: null, retryDeliveryId: null, lastOutcome: '200' }, concurrencyLimit: 2 },
  },
  {
    row: 'X1 a 200 of a manual attempt does the same, but leaves the concurrency',
    from: failing,
    decision: DELIVERED,
    attempt: { isManual: true },
    changes: { stored: { failures: 0, dueAt: null, retryDeliveryId: null, lastOutcome: '200' } },
  },
  {
    row: 'C19 a 200 ends the pause after local errors',
    from: paused,
    decision: DELIVERED,
    changes: { localErrorCount: 0, pausedUntil: 0, concurrencyLimit: 4 },
  },
  {
    row: 'C18 a 200 during a backoff changes nothing',
    from: failing,
    decision: { is: 'delivered_during_backoff' },
    changes: {},
  },
  {
    row: 'C18 a counted failure begins the backoff, and its delivery is the first to be retried',
    from: healthy,
    decision: { is: 'wait', failures: 1, waitMs: 60_000 },
    attempt: { outcome: '500' },
    changes: {
      stored: { failures: 1, dueAt: NOW + 60_000, retryDeliveryId: 7, lastOutcome: '500' },
      concurrencyLimit: 1,
      failureCountSinceClaim: 1,
    },
  },
  {
    row: 'C18 a failure that is part of a counted one changes nothing',
    from: failing,
    decision: { is: 'part_of_counted_failure' },
    attempt: { outcome: '503' },
    changes: {},
  },
  {
    row: 'C17 the third failure ends the hook: nothing is due any more',
    from: failing,
    decision: { is: 'ended', reason: 'three_failures', failures: 3 },
    attempt: { outcome: 'timeout' },
    changes: { stored: { failures: 3, dueAt: null, retryDeliveryId: 5, lastOutcome: 'timeout' } },
  },
  {
    row: 'X1 a failed manual attempt is not counted, but is the last outcome',
    from: healthy,
    decision: { is: 'manual_failed' },
    attempt: { outcome: '404', isManual: true },
    changes: { stored: { failures: 0, dueAt: null, retryDeliveryId: null, lastOutcome: '404' } },
  },
  {
    row: 'C19 a local error pauses the hook and counts no failure',
    from: healthy,
    decision: { is: 'retry_local_error', waitMs: 1_000 },
    attempt: { outcome: 'no_route' },
    changes: { localErrorCount: 1, lastLocalErrorAt: NOW, pausedUntil: NOW + 1_000 },
  },
  {
    row: 'C19 a local error of an attempt in flight at the last one is not a further one',
    from: paused,
    decision: { is: 'retry_local_error', waitMs: 1_000 },
    attempt: { outcome: 'no_route' },
    changes: {},
  },
  {
    row: 'C19 an attempt that was stopped does not pause the hook',
    from: healthy,
    decision: { is: 'retry_local_error', waitMs: 0 },
    attempt: { outcome: 'stopped' },
    changes: {},
  },
];

for (const { row, from, decision, attempt: changedAttempt, changes } of stateTable) {
  test(row, () => {
    const next = applyDecision(from, decision, attempt(changedAttempt), NOW);
    assert.deepEqual(next, { ...from, ...changes });
    // The completer writes the stored part only if it is another object.
    assert.equal(next.stored === from.stored, changes.stored === undefined);
  });
}

test('C19 local errors of attempts that were in flight together count as one', () => {
  assert.equal(countLocalErrorsBefore(paused, NOW - 5), 1);
  assert.equal(countLocalErrorsBefore(paused, NOW), 2);
  assert.equal(countLocalErrorsBefore(healthy, NOW - 5), 0);
});
