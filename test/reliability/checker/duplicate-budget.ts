import { MAX_COMMIT_DELAY_MS } from '../workload/observers.ts';
import { MAX_IN_FLIGHT } from './delivery-checker.ts';
import { type Arrival, type Crash, isGivenUp, type Pause, writtenBy } from './history.ts';

/** What a hook may have had told that is not written down: as many as may wait for that, beside those in flight (C22). */
const MAX_DUPLICATES = 128 + MAX_IN_FLIGHT;

/** What was answered longer ago than this should be written down, wherever there is enough of a processor. */
const LATE_COMMIT_MS = 100;

/** What its receiver heard more than once, and what may have been heard once more since a process was killed. */
export type DuplicateCounts = {
  /** 200s of a delivery beyond its first one. */
  readonly again: number;
  /** Told, and not answered yet, when a process was killed. */
  readonly inFlight: number;
  /** Answered 200 by then, and not written down; and of these, what was answered more than 100 ms before. */
  readonly unwritten: number;
  readonly unwrittenLate: number;
  /** Told, and given up after a pause before it was answered. */
  readonly givenUp: number;
  /** What does not hold, a line each. */
  readonly broken: readonly string[];
};

/** Twice is told what was in flight when a process died, or had not been written down; so many of a hook, and no more. */
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
          broken.push(`answered long before, and not written down: ${one.deliveryId}`);
      } else continue;
      byHook.set(one.path, (byHook.get(one.path) ?? new Set()).add(one.deliveryId));
    }
    for (const [path, all] of byHook) {
      if (all.size > MAX_DUPLICATES)
        broken.push(`more than can be in flight or not written down: ${path}, ${all.size}`);
    }
  }
  const byDelivery = Map.groupBy(
    arrivals.filter(({ answer }) => answer === 200),
    ({ path, deliveryId }) => `${path} ${deliveryId}`,
  );
  const again = [...byDelivery.values()].reduce((sum, all) => sum + all.length - 1, 0);
  const givenUp = arrivals.filter((one) => isGivenUp(pauses, one)).length;
  if (again > inFlight + unwritten + givenUp) {
    const may = `${inFlight + unwritten} were in flight or not written down, and ${givenUp} given up after a pause`;
    broken.push(`${again} were told twice; ${may}`);
  }
  return { again, inFlight, unwritten, unwrittenLate, givenUp, broken: broken.map((line) => `C20 ${line}`) };
}
