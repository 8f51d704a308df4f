import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AttemptContext,
  type AttemptOutcome,
  computeMaxRetryDelayMs,
  computeRemainingBackoffMs,
  type Decision,
  decide,
  explainDecision,
  type FailureCode,
  formatOutcome,
  type LocalErrorCode,
  toLocalErrorIfPaused,
} from './retry-policy.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Every failure without a status; the type requires all of them. */
const failureCodes = Object.keys({
  timeout: 0,
  refused: 0,
  reset: 0,
  tls: 0,
  no_such_name: 0,
  forbidden: 0,
  protocol: 0,
} satisfies Record<FailureCode, 0>) as FailureCode[];

const localErrorCodes = Object.keys({
  no_file_handle: 0,
  no_local_port: 0,
  no_route: 0,
  no_resolver: 0,
  no_memory: 0,
  process_paused: 0,
  stopped: 0,
  broken: 0,
} satisfies Record<LocalErrorCode, 0>) as LocalErrorCode[];

const answered = (status: number, retryAfterMs?: number): AttemptOutcome => ({
  kind: 'answered',
  status,
  durationMs: 5,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});
const failed = (cause: FailureCode): AttemptOutcome => ({ kind: 'failed', cause, durationMs: 5 });
const localError = (code: LocalErrorCode): AttemptOutcome => ({ kind: 'local_error', code, durationMs: 5 });

/** Every status other than 200 and 401, and every failure without a status. */
const otherOutcomes: readonly AttemptOutcome[] = [
  ...Array.from({ length: 400 }, (_, index) => 200 + index)
    .filter((status) => status !== 200 && status !== 401)
    .map((status) => answered(status)),
  ...failureCodes.map(failed),
];

function decision(outcome: AttemptOutcome, situation: Partial<AttemptContext> = {}): Decision {
  return decide({
    outcome,
    failures: 0,
    isPartOfFailure: false,
    isManual: false,
    localErrorCount: 0,
    retryDelaysMs: [MINUTE_MS, 2 * HOUR_MS],
    jitterFraction: 0,
    ...situation,
  });
}

/** Section 3 of the specification: the effect of a response on a live hook. */
const stateTable: readonly {
  row: string;
  outcomes: readonly AttemptOutcome[];
  failures: number;
  decision: Decision;
}[] = [
  {
    row: 'a 200 keeps the hook subscribed and counts as delivered',
    outcomes: [answered(200)],
    failures: 0,
    decision: { is: 'delivered' },
  },
  {
    row: 'a 200 after one failure does the same',
    outcomes: [answered(200)],
    failures: 1,
    decision: { is: 'delivered' },
  },
  {
    row: 'a 200 after two failures does the same',
    outcomes: [answered(200)],
    failures: 2,
    decision: { is: 'delivered' },
  },
  {
    row: 'a 401 ends the hook immediately',
    outcomes: [answered(401)],
    failures: 0,
    decision: { is: 'ended', reason: 'answered_401', failures: 0 },
  },
  {
    row: 'a 401 after failures ends the hook immediately and is not counted',
    outcomes: [answered(401)],
    failures: 2,
    decision: { is: 'ended', reason: 'answered_401', failures: 2 },
  },
  {
    row: 'anything else, the first time, keeps it subscribed and is retried after a delay',
    outcomes: otherOutcomes,
    failures: 0,
    decision: { is: 'wait', failures: 1, waitMs: MINUTE_MS },
  },
  {
    row: 'anything else, the second time in a row, keeps it subscribed and is retried after a delay',
    outcomes: otherOutcomes,
    failures: 1,
    decision: { is: 'wait', failures: 2, waitMs: 2 * HOUR_MS },
  },
  {
    row: 'anything else, the third time in a row, ends the hook',
    outcomes: otherOutcomes,
    failures: 2,
    decision: { is: 'ended', reason: 'three_failures', failures: 3 },
  },
];

for (const { row, outcomes, failures, decision: wanted } of stateTable) {
  test(`C17 C18 state table: ${row}`, () => {
    for (const outcome of outcomes) assert.deepEqual(decision(outcome, { failures }), wanted, formatOutcome(outcome));
  });
}

test('C17 no other status counts as 200 or 401, neither one with a similar number nor one with a similar meaning', () => {
  for (const status of [199, 201, 202, 203, 204, 206, 226, 299, 301, 302, 303, 307, 308]) {
    assert.equal(decision(answered(status)).is, 'wait', String(status));
  }
  for (const status of [400, 402, 403, 404, 407, 410, 429, 500, 503]) {
    assert.equal(decision(answered(status)).is, 'wait', String(status));
  }
});

test('C18 jitter lengthens a retry delay by up to 10 % and never shortens it', () => {
  for (const [failures, waitMs] of [
    [0, MINUTE_MS],
    [1, 2 * HOUR_MS],
  ] as const) {
    const at = (jitterFraction: number) => {
      const judged = decision(answered(500), { failures, jitterFraction });
      assert.equal(judged.is, 'wait');
      return 'waitMs' in judged ? judged.waitMs : Number.NaN;
    };
    assert.equal(at(0), waitMs);
    assert.equal(at(0.5), waitMs * 1.05);
    const longest = at(1 - Number.EPSILON);
    assert.ok(longest > waitMs * 1.099 && longest <= waitMs * 1.1, String(longest));
    for (let step = 1; step <= 100; step += 1) assert.ok(at(step / 101) > at((step - 1) / 101));
  }
});

test('C18 a hook that is down for an hour survives it with the default retry delays, whatever the jitter', () => {
  for (const jitterFraction of [0, 0.5, 1 - Number.EPSILON]) {
    let waitedMs = 0;
    for (const failures of [0, 1]) {
      const judged = decision(failed('refused'), { failures, jitterFraction });
      assert.ok(judged.is === 'wait');
      waitedMs += judged.waitMs;
    }
    assert.ok(waitedMs > HOUR_MS);
  }
});

test('C18 Retry-After lengthens a retry delay up to a day and never shortens it', () => {
  const waitOf = (retryAfterMs: number, failures = 0, jitterFraction = 0) => {
    const judged = decision(answered(503, retryAfterMs), { failures, jitterFraction });
    assert.equal(judged.is, 'wait');
    return 'waitMs' in judged ? judged.waitMs : Number.NaN;
  };
  assert.equal(waitOf(0), MINUTE_MS);
  assert.equal(waitOf(1_000), MINUTE_MS);
  assert.equal(waitOf(MINUTE_MS + 1), MINUTE_MS + 1);
  assert.equal(waitOf(HOUR_MS), HOUR_MS);
  assert.equal(waitOf(HOUR_MS, 1), 2 * HOUR_MS);
  assert.equal(waitOf(3 * HOUR_MS, 1), 3 * HOUR_MS);
  assert.equal(waitOf(DAY_MS), DAY_MS);
  assert.equal(waitOf(DAY_MS + 1), DAY_MS);
  assert.equal(waitOf(365 * DAY_MS), DAY_MS);
  assert.equal(waitOf(MINUTE_MS * 1.02, 0, 0.5), MINUTE_MS * 1.05, 'the wait with its chance is longer still');
  assert.deepEqual(
    decision(answered(503, HOUR_MS), { failures: 2 }).is,
    'ended',
    'it is no way round the third failure',
  );
});

test('C18 a configured retry delay of more than a day is kept: the limit is for Retry-After', () => {
  const judged = decision(answered(503, HOUR_MS), { retryDelaysMs: [3 * DAY_MS, 3 * DAY_MS] });
  assert.deepEqual(judged, { is: 'wait', failures: 1, waitMs: 3 * DAY_MS });
});

test('C18 no retry delay exceeds the maximum, and a later due time counts as due', () => {
  for (const retryDelaysMs of [
    [MINUTE_MS, 2 * HOUR_MS],
    [3, 7 * DAY_MS + 1],
  ] as const) {
    const maxRetryDelayMs = computeMaxRetryDelayMs(retryDelaysMs);
    assert.ok(maxRetryDelayMs >= DAY_MS);
    for (const failures of [0, 1]) {
      for (const retryAfterMs of [0, DAY_MS, 400 * DAY_MS]) {
        const waited = decision(answered(503, retryAfterMs), {
          failures,
          retryDelaysMs,
          jitterFraction: 1 - 2 ** -53,
        });
        assert.ok(waited.is === 'wait' && waited.waitMs <= maxRetryDelayMs);
      }
    }
    assert.equal(computeRemainingBackoffMs(5_000 + maxRetryDelayMs, 5_000, maxRetryDelayMs), maxRetryDelayMs);
    assert.equal(computeRemainingBackoffMs(5_001 + maxRetryDelayMs, 5_000, maxRetryDelayMs), 0);
    assert.equal(computeRemainingBackoffMs(4_000, 5_000, maxRetryDelayMs), -1_000);
  }
});

test('C18 attempts in flight at a failure are part of it: failures are not counted, a 200 delivers, a 401 ends', () => {
  for (const failures of [1, 2]) {
    const burst = { failures, isPartOfFailure: true };
    for (const outcome of otherOutcomes) {
      assert.deepEqual(decision(outcome, burst), { is: 'part_of_counted_failure' }, formatOutcome(outcome));
    }
    assert.deepEqual(decision(answered(200), burst), { is: 'delivered_during_backoff' });
    assert.deepEqual(decision(answered(401), burst), { is: 'ended', reason: 'answered_401', failures });
  }
});

test('C19 a local error is never a failure: the attempt is made again', () => {
  for (const fault of localErrorCodes) {
    for (const failures of [0, 1, 2]) {
      for (const isManual of [false, true]) {
        for (const isPartOfFailure of [false, true]) {
          const judged = decision(localError(fault), { failures, isManual, isPartOfFailure });
          // An attempt aborted before it was sent is retried without delay.
          assert.deepEqual(judged, { is: 'retry_local_error', waitMs: fault === 'stopped' ? 0 : 1_000 }, fault);
        }
      }
    }
  }
});

test('C19 a process pause of a second and a fifth of the deadline excuses timeouts and resets', () => {
  const fault = { kind: 'local_error', code: 'process_paused' };
  for (const cause of failureCodes) {
    const isExcused = cause === 'timeout' || cause === 'reset';
    const failure = { kind: 'failed', cause } as const;
    const result = toLocalErrorIfPaused(failure, 60_000, 15_000);
    if (isExcused) assert.partialDeepStrictEqual(result, fault, cause);
    else assert.equal(result, failure);
  }
  for (const [deadlineMs, boundMs] of [
    [15_000, 3_000],
    [5_000, 1_000],
    [1_000, 1_000],
  ] as const) {
    const judged = (pausedMs: number) =>
      toLocalErrorIfPaused({ kind: 'failed', cause: 'timeout' }, pausedMs, deadlineMs).kind;
    assert.deepEqual([judged(boundMs - 1), judged(boundMs)], ['failed', 'local_error'], String(deadlineMs));
  }
  for (const status of [200, 401, 408, 500]) {
    const result = { kind: 'answered', status } as const;
    assert.equal(toLocalErrorIfPaused(result, 60_000, 15_000), result);
  }
});

test('C19 the backoff after local errors doubles from a second to a minute', () => {
  const waits = Array.from({ length: 12 }, (_, localErrors) =>
    decision(localError('no_resolver'), { localErrorCount: localErrors }),
  );
  assert.deepEqual(
    waits.map((judged) => ('waitMs' in judged ? judged.waitMs / 1_000 : Number.NaN)),
    [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60],
  );
  assert.deepEqual(decision(localError('no_resolver'), { localErrorCount: 1_000_000 }), {
    is: 'retry_local_error',
    waitMs: MINUTE_MS,
  });
});

test('X1 X3 a failed manual attempt is not counted; its 200 delivers, its 401 ends', () => {
  for (const failures of [0, 1, 2]) {
    for (const outcome of otherOutcomes) {
      assert.deepEqual(
        decision(outcome, { failures, isManual: true }),
        { is: 'manual_failed' },
        formatOutcome(outcome),
      );
    }
    for (const isPartOfFailure of [false, true]) {
      const asked = { failures, isManual: true, isPartOfFailure };
      assert.deepEqual(decision(answered(200), asked), { is: 'delivered' });
      assert.deepEqual(decision(answered(401), asked), { is: 'ended', reason: 'answered_401', failures });
    }
  }
});

test('C6 X3 an outcome is a status or one word of a closed set, and contains no address', () => {
  assert.equal(formatOutcome(answered(204)), '204');
  for (const cause of failureCodes) assert.equal(formatOutcome({ ...failed(cause), note: '10.0.0.1:80' }), cause);
  for (const fault of localErrorCodes)
    assert.equal(formatOutcome({ ...localError(fault), note: '10.0.0.1:80' }), fault);
});

test('X3 every decision has a reason, and that of a counted failure contains its number', () => {
  const decisions: readonly Decision[] = [
    { is: 'delivered' },
    { is: 'delivered_during_backoff' },
    { is: 'part_of_counted_failure' },
    { is: 'manual_failed' },
    { is: 'wait', failures: 1, waitMs: 1 },
    { is: 'wait', failures: 2, waitMs: 1 },
    { is: 'ended', reason: 'three_failures', failures: 3 },
    { is: 'ended', reason: 'answered_401', failures: 0 },
    { is: 'retry_local_error', waitMs: 1 },
  ];
  const reasons = decisions.map(explainDecision);
  assert.equal(new Set(reasons).size, decisions.length);
  assert.match(reasons[4] ?? '', /failure 1 of 3/);
  assert.match(reasons[5] ?? '', /failure 2 of 3/);
  assert.match(reasons[6] ?? '', /failure 3 of 3/);
});
