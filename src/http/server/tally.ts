import type { Clock } from '../../clock.ts';

const INTERVAL_MS = 1_000;

/** Counts what happens too often for a log line each, and reports the counts at most once a second. */
export class Tally<Reason extends string> {
  readonly #clock: Clock;
  readonly #report: (counts: Readonly<Partial<Record<Reason, number>>>) => void;
  #counts: Partial<Record<Reason, number>> = {};
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, report: (counts: Readonly<Partial<Record<Reason, number>>>) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  count(reason: Reason): void {
    this.#counts[reason] = (this.#counts[reason] ?? 0) + 1;
    this.#cancel ??= this.#clock.after(INTERVAL_MS, () => this.flush());
  }

  /** Reports the pending counts and cancels the timer. */
  flush(): void {
    if (this.#cancel === undefined) return;
    this.#cancel();
    this.#cancel = undefined;
    const counts = this.#counts;
    this.#counts = {};
    this.#report(counts);
  }
}
