import { MAX_COMMIT_DELAY_MS } from '../workload/observers.ts';
import { MAX_IN_FLIGHT } from './delivery-checker.ts';
import { type Arrival, type Crash, isGivenUp, type Pause, writtenBy } from './history.ts';

/**
 * Maximum duplicates of a hook at a kill: 128 uncommitted results, plus the attempts in flight
 * (C22).
 */
const MAX_DUPLICATES = 128 + MAX_IN_FLIGHT;

/** Results are usually committed sooner than this after the response; later ones are counted separately. */
const LATE_COMMIT_MS = 100;

/** Duplicates that the receiver got, and the deliveries that the kills and pauses explain. */
export type DuplicateCounts = {
  /** 200s of a delivery beyond the first one. */
  readonly again: number;
  /** Sent and not answered when a process was killed. */
  readonly inFlight: number;
  /** Answered 200 but not committed when a process was killed; and of these, answered more than 100 ms before. */
  readonly unwritten: number;
  readonly unwrittenLate: number;
  /** Timed out after a pause before the receiver answered. */
  readonly givenUp: number;
  /** Violations, one per line. */
  readonly broken: readonly string[];
};

/**
 * C20: a delivery is duplicated only if it was in flight, or its result was not committed, when a process
 * died. Each hook has a maximum.
 */
export function checkDuplicates(
  arrivals: readonly Arrival[],
  crashes: readonly Crash[],
  pauses: readonly Pause[] = [],
): DuplicateCounts {
  const broken: string[] = [];
  let [inFlight, unwritten, unwrittenLate] = [0, 0, 0];
  for (const [index, { at, killedAt = at, pending }] of crashes.entries()) {
    const since = crashes[index - 1]?.at ?? Number.NEGATIVE_INFINITY;
    const byHook = new Map<string, Set<string>>();
    for (const one of arrivals) {
      if (one.at <= since || one.at > at || !pending.has(one.deliveryId)) continue;
      const { answeredAt = Number.POSITIVE_INFINITY } = one;
      if (answeredAt > killedAt) inFlight += 1;
      else if (one.answer === 200) {
        unwritten += 1;
        if (killedAt - answeredAt > LATE_COMMIT_MS) unwrittenLate += 1;
        if (killedAt > writtenBy({ settlesWithinMs: MAX_COMMIT_DELAY_MS, pauses }, one))
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
  const again = [...byDelivery.values()].reduce((sum, all) => sum + all.length - 1, 0);
  const givenUp = arrivals.filter((one) => isGivenUp(pauses, one)).length;
  if (again > inFlight + unwritten + givenUp) {
    const may = `${inFlight + unwritten} were in flight or uncommitted, and ${givenUp} timed out after a pause`;
    broken.push(`${again} duplicates; ${may}`);
  }
  return { again, inFlight, unwritten, unwrittenLate, givenUp, broken: broken.map((line) => `C20 ${line}`) };
}
