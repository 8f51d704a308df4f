/** What comes of an answer is written down within the same instant; so long is that, milliseconds. */
const INSTANT_MS = 5;

/** After something could not be written, it is tried again so soon. */
const RETRIED_WITHIN_MS = 600;

/** When the service could not write, or had no turn to: only what it came to know then may be unwritten when it ends. */
export class WriteOutages {
  readonly #stretches: { readonly from: number; readonly to: number }[] = [];

  /** From one moment to another. */
  note(from: number, to = from): void {
    this.#stretches.push({ from, to });
  }

  /** How long what the service knows from a moment on may take to be written down. */
  readonly settlesWithinMs = (since: number): number => {
    let end = since + INSTANT_MS;
    for (const { from, to } of this.#stretches) {
      const writtenBy = to + RETRIED_WITHIN_MS;
      if (from <= end && writtenBy >= since) end = Math.max(end, writtenBy);
    }
    return end - since;
  };
}
