import type { Clock } from '../../src/clock.ts';

/** A Thursday; the machine's own time appears nowhere. */
const EPOCH = Date.UTC(2027, 4, 6, 12);

/** Apart from each other by so much, moments of one millisecond keep their order. */
const INSTANT_MS = 1e-6;

/** What a service lives in; when it is dead, nothing that was handed in does anything any more. */
export type Life = { readonly number: number; isDead: boolean };

type Timer = { readonly dueAt: number; readonly life: Life | undefined; readonly run: () => void };

/** Time that passes when it is told to. */
export class Time {
  #ms = 0;
  #last = 0;
  readonly #timers = new Set<Timer>();
  /** How the clock on the wall was set, at which moments. */
  readonly jumps: { readonly at: number; readonly byMs: number }[] = [];

  /** Milliseconds from the beginning: no two of them are equal. */
  moment(): number {
    this.#last = Math.max(this.#last + INSTANT_MS, this.#ms);
    return this.#last;
  }

  /** What the clock on the wall showed at a moment. */
  readonly wallOf = (moment: number): number =>
    this.jumps.reduce((wall, { at, byMs }) => (at <= moment ? wall + byMs : wall), EPOCH + moment);

  /** The clock of one life, or of the world. */
  clockOf(life?: Life): Clock {
    return {
      now: () => Math.floor(this.wallOf(this.#ms)),
      monotonic: () => this.#ms,
      after: (waitMs, run) => {
        const timer = { dueAt: this.#ms + Math.max(0, waitMs), life, run };
        this.#timers.add(timer);
        return () => void this.#timers.delete(timer);
      },
    };
  }

  /** Goes on to the next timer, and calls it. */
  next(): void {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.life?.isDead === true) this.#timers.delete(timer);
      else if (first === undefined || timer.dueAt < first.dueAt) first = timer;
    }
    if (first === undefined) return;
    this.#timers.delete(first);
    this.#ms = Math.max(this.#ms, first.dueAt);
    first.run();
  }

  /** Passes, and no timer is called: a process that stands still. */
  pass(byMs: number): void {
    this.#ms += byMs;
  }

  /** Somebody sets the clock on the wall. */
  jump(byMs: number): void {
    this.jumps.push({ at: this.moment(), byMs });
    this.#ms = Math.max(this.#ms, this.#last);
  }
}
