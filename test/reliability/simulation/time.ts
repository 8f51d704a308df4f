import type { Clock } from '../../../src/clock.ts';

/** A Thursday; the machine's own time appears nowhere. */
const EPOCH = Date.UTC(2027, 4, 6, 12);

/** Apart from each other by so much, moments of one millisecond keep their order. */
const INSTANT_MS = 1e-6;

/** What a service lives in; when it is dead, nothing that was handed in does anything any more. */
export type Life = { readonly number: number; isDead: boolean };

type Timer = {
  readonly dueAt: number;
  readonly life: Life | undefined;
  /** It fires on the way to others: no step of time ends at it. */
  readonly isTick: boolean;
  readonly run: () => void;
};

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

  /**
   * The clock of one life, or of the world.
   *
   * @param isTick whether its timers tick so often that time would not get anywhere from one of them to the next
   */
  clockOf(life?: Life, isTick = false): Clock {
    return {
      now: () => Math.floor(this.wallOf(this.#ms)),
      monotonic: () => this.#ms,
      after: (waitMs, run) => {
        const timer = { dueAt: this.#ms + Math.max(0, waitMs), life, isTick, run };
        this.#timers.add(timer);
        return () => void this.#timers.delete(timer);
      },
    };
  }

  /** Goes on to the next timer, and calls it. */
  next(): void {
    const next = this.#first(({ isTick }) => !isTick);
    if (next === undefined) return;
    const isOnTheWay = (timer: Timer) => timer.isTick && timer.dueAt <= next.dueAt;
    for (let tick = this.#first(isOnTheWay); tick !== undefined; tick = this.#first(isOnTheWay)) this.#fire(tick);
    this.#fire(next);
  }

  /** The process stands still: time passes, and then every timer that fell due is called before anything else happens. */
  pause(byMs: number): void {
    this.#ms += byMs;
    const due = [...this.#timers].filter(({ dueAt, life }) => dueAt <= this.#ms && life?.isDead !== true);
    due.sort((one, other) => one.dueAt - other.dueAt);
    for (const timer of due) if (this.#timers.has(timer)) this.#fire(timer);
  }

  /** Passes while no process lives. */
  pass(byMs: number): void {
    this.#ms += byMs;
  }

  #first(which: (timer: Timer) => boolean): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.life?.isDead === true) this.#timers.delete(timer);
      else if (which(timer) && (first === undefined || timer.dueAt < first.dueAt)) first = timer;
    }
    return first;
  }

  #fire(timer: Timer): void {
    this.#timers.delete(timer);
    this.#ms = Math.max(this.#ms, timer.dueAt);
    timer.run();
  }

  /** Somebody sets the clock on the wall. */
  jump(byMs: number): void {
    this.jumps.push({ at: this.moment(), byMs });
    this.#ms = Math.max(this.#ms, this.#last);
    // Noticed at once: two jumps between two ticks would look like one.
    for (const tick of [...this.#timers].filter(({ isTick, life }) => isTick && life?.isDead !== true)) {
      this.#timers.delete(tick);
      tick.run();
    }
  }
}
