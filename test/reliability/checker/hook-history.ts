import { type Attempt, DeliveryChecker } from './delivery-checker.ts';
import {
  type Arrival,
  about,
  diedUnwritten,
  endOf,
  type History,
  heardAt,
  isExcused,
  isOfTest,
  type StoredHook,
} from './history.ts';

/** Replays the history of each hook against the state table: which attempts its receiver saw, and what clients requested. */
export function wronglyRemoved(history: History): string[] {
  const arrivals = Map.groupBy(history.arrivals, ({ path }) => path);
  return history.database.hooks.flatMap((hook) => faultsOf(history, hook, arrivals.get(hook.path) ?? []));
}

function faultsOf(history: History, { path, endedReason }: StoredHook, arrivals: readonly Arrival[]): string[] {
  const { calls, crashes, waitsMs = [], maxResultDelayMs = 0, wallOf = (at) => at } = history;
  const checker = new DeliveryChecker({ waitsMs, wallOf, isExact: maxResultDelayMs === 0 });
  const steps = [
    ...arrivals.flatMap((one) => {
      const attempt = attemptOf(history, one);
      return [
        { at: attempt.startedAt, run: () => checker.started(attempt) },
        { at: attempt.knownFrom, run: () => checker.finished(attempt) },
      ];
    }),
    ...crashes.flatMap(({ at, fates }) => {
      const status = fates.get(path);
      return status === undefined ? [] : [{ at, run: () => checker.crashed(at, status) }];
    }),
    ...about(calls, 'unsubscribe', path).map(({ askedAt: at }) => ({ at, run: () => checker.deletionRequested() })),
    ...about(calls, 'restore', path).map(({ askedAt: at, answeredAt }) => ({
      at,
      run: () => checker.restored(answeredAt !== undefined),
    })),
  ];
  for (const { run } of steps.sort((a, b) => a.at - b.at)) run();
  checker.ends(endedReason);
  return checker.faults.map((fault) => `${path} ${fault}`);
}

function attemptOf(history: History, one: Arrival): Attempt {
  const { calmFrom = Number.POSITIVE_INFINITY } = history;
  const { deliveryId, answer, retryAfterMs } = one;
  const manual = manualOf(history, one);
  return {
    ...{ deliveryId, answer, retryAfterMs, manual },
    startedAt: startedAt(one),
    knownFrom: one.heardAt ?? endOf(one),
    knownBy: heardAt(history, one),
    effect: effectOf(history, one, manual),
    isRetryPunctual: endOf(one) >= calmFrom,
  };
}

const startedAt = ({ began, at }: Arrival): number => began ?? at;

/** Whether a client requested this attempt (X1, X3). */
function manualOf(history: History, one: Arrival): Attempt['manual'] {
  if (isOfTest(history, one)) return 'yes';
  const restores = about(history.calls, 'restore', one.path).map(({ askedAt }) => askedAt);
  const restoredAt = Math.max(Number.NEGATIVE_INFINITY, ...restores.filter((askedAt) => askedAt < startedAt(one)));
  // A request that was answered before the hook was restored ended with the hook.
  const isRequested = about(history.calls, 'redeliver', one.deliveryId).some(
    ({ askedAt, answeredAt = Number.POSITIVE_INFINITY }) => askedAt <= one.at && answeredAt > restoredAt,
  );
  if (!isRequested) return 'no';
  // A restore makes undelivered deliveries pending again: this may be one of them.
  return restoredAt > Number.NEGATIVE_INFINITY ? 'perhaps' : 'yes';
}

function effectOf(history: History, one: Arrival, manual: Attempt['manual']): Attempt['effect'] {
  const { crashes } = history;
  const excused = isExcused(history, one);
  if (excused === true) return 'none';
  // After a crash, a redelivery looks the same as a scheduled attempt of a pending delivery; a test is never scheduled.
  const mayBePending = crashes.some(({ at, pending }) => at <= one.at && pending.has(one.deliveryId));
  if (manual !== 'no' && mayBePending && !isOfTest(history, one)) return 'unknown';
  const isLost = crashes.some(
    (crash) => crash.fates.has(one.path) && endOf(one) <= crash.at && diedUnwritten(history, crash, one),
  );
  return isLost || excused === 'perhaps' ? 'possible' : 'certain';
}
