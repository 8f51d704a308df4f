/** Results are committed within the same simulated instant; its length in milliseconds. */
const INSTANT_MS = 5;

/** A failed write is retried within this time. */
const RETRIED_WITHIN_MS = 600;

/**
 * Times at which the service could not write or was paused: a result that it knew then may be uncommitted
 * when it dies.
 */
export class WriteOutages {
  readonly #stretches: { readonly from: number; readonly to: number }[] = [];

  /** Adds an interval, or a single time. */
  note(from: number, to = from): void {
    this.#stretches.push({ from, to });
  }

  /** Maximum time until a result that is known at `since` is committed. */
  readonly settlesWithinMs = (since: number): number => {
    let end = since + INSTANT_MS;
    for (const { from, to } of this.#stretches) {
      const writtenBy = to + RETRIED_WITHIN_MS;
      if (from <= end && writtenBy >= since) end = Math.max(end, writtenBy);
    }
    return end - since;
  };
}
