/** Results are committed within the same simulated instant; its length in milliseconds. */
const INSTANT_MS = 5;

/** A failed write is retried within this time. */
const RETRY_TIMEOUT_MS = 600;

/**
 * Times at which the service could not write or was paused: a result that it knew then may be uncommitted
 * when it dies.
 */
export class WriteOutages {
  readonly #intervals: { readonly from: number; readonly to: number }[] = [];

  /** Adds an interval, or a single time. */
  add(from: number, to = from): void {
    this.#intervals.push({ from, to });
  }

  /** Maximum time until a result that is known at `since` is committed. */
  readonly settlesWithinMs = (since: number): number => {
    let end = since + INSTANT_MS;
    for (const { from, to } of this.#intervals) {
      const writtenBy = to + RETRY_TIMEOUT_MS;
      if (from <= end && writtenBy >= since) end = Math.max(end, writtenBy);
    }
    return end - since;
  };
}
