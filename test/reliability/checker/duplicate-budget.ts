import { MAX_COMMIT_DELAY_MS } from '../workload/observers.ts';
import { MAX_IN_FLIGHT } from './delivery-checker.ts';
import { type Arrival, type Crash, hasTimedOutAfterPause, latestCommitOf, type Pause } from './history.ts';

/** Maximum number of duplicates of a hook at a kill: 128 uncommitted results, plus the attempts in flight (C22). */
const MAX_DUPLICATES = 128 + MAX_IN_FLIGHT;

/**
 * Results are usually committed within this time after the response. Results that took longer are counted
 * separately.
 */
const LATE_COMMIT_MS = 100;

/**
 * The number of duplicates that the receiver got, and of deliveries that may be duplicated because of kills and
 * pauses.
 */
export type DuplicateCounts = {
  /** Number of responses with status 200 to deliveries that had been answered 200 before. */
  readonly duplicateCount: number;
  /** Number of deliveries that were sent and not yet answered when a process was killed. */
  readonly inFlight: number;
  /** Number of deliveries that were answered 200 but not committed when a process was killed. */
  readonly uncommitted: number;
  /** Number of these uncommitted deliveries that were answered more than 100 ms before the kill. */
  readonly uncommittedLate: number;
  /** Number of attempts that timed out after a pause, before the receiver answered. */
  readonly timedOutAfterPause: number;
  /** Descriptions of the violations. */
  readonly broken: readonly string[];
};

/**
 * Checks that a delivery is duplicated only if it was in flight, or its result was not committed, when a process
 * died (C20). The number of duplicates of each hook is limited.
 */
export function checkDuplicates(
  arrivals: readonly Arrival[],
  crashes: readonly Crash[],
  pauses: readonly Pause[] = [],
): DuplicateCounts {
  const broken: string[] = [];
  let [inFlight, uncommitted, uncommittedLate] = [0, 0, 0];
  for (const [index, { at, killedAt = at, pending }] of crashes.entries()) {
    const since = crashes[index - 1]?.at ?? Number.NEGATIVE_INFINITY;
    const byHook = new Map<string, Set<string>>();
    for (const one of arrivals) {
      if (one.at <= since || one.at > at || !pending.has(one.deliveryId)) continue;
      const { answeredAt = Number.POSITIVE_INFINITY } = one;
      if (answeredAt > killedAt) inFlight += 1;
      else if (one.answer === 200) {
        uncommitted += 1;
        if (killedAt - answeredAt > LATE_COMMIT_MS) uncommittedLate += 1;
        if (killedAt > latestCommitOf({ settlesWithinMs: MAX_COMMIT_DELAY_MS, pauses }, one))
          broken.push(`answered long before, and not committed: ${one.deliveryId}`);
      } else continue;
      byHook.set(one.path, (byHook.get(one.path) ?? new Set()).add(one.deliveryId));
    }
    for (const [path, all] of byHook) {
      if (all.size > MAX_DUPLICATES) broken.push(`more than can be in flight or uncommitted: ${path}, ${all.size}`);
    }
  }
  const byDelivery = Map.groupBy(
    arrivals.filter(({ answer }) => answer === 200),
    ({ path, deliveryId }) => `${path} ${deliveryId}`,
  );
  const duplicateCount = [...byDelivery.values()].reduce((sum, all) => sum + all.length - 1, 0);
  const timedOutAfterPause = arrivals.filter((one) => hasTimedOutAfterPause(pauses, one)).length;
  if (duplicateCount > inFlight + uncommitted + timedOutAfterPause) {
    const may = `${inFlight + uncommitted} were in flight or uncommitted, and ${timedOutAfterPause} timed out after a pause`;
    broken.push(`${duplicateCount} duplicates; ${may}`);
  }
  return {
    duplicateCount,
    inFlight,
    uncommitted,
    uncommittedLate,
    timedOutAfterPause,
    broken: broken.map((line) => `C20 ${line}`),
  };
}
