import type { Clock } from '../../../src/clock.ts';

/** Beginning of the simulated time, a Thursday. The real time is never used. */
const EPOCH = Date.UTC(2027, 4, 6, 12);

/** Distance between two times within the same millisecond, so that their order is defined. */
const INSTANT_MS = 1e-6;

/** One run of the service process. After its death, the dependencies of the process have no effect. */
export type ProcessLife = { readonly number: number; isDead: boolean };

type Timer = {
  readonly dueAt: number;
  readonly life: ProcessLife | undefined;
  /** True if the timer fires on the way to later timers, so that no time step ends at it. */
  readonly isTick: boolean;
  readonly run: () => void;
};

/** Simulated time, which passes only on request. */
export class SimulatedTime {
  #ms = 0;
  #last = 0;
  readonly #timers = new Set<Timer>();
  /** Changes of the wall clock, with their times. */
  readonly jumps: { readonly at: number; readonly byMs: number }[] = [];

  /** Returns the current time in milliseconds from the beginning. It is strictly increasing. */
  timestamp(): number {
    this.#last = Math.max(this.#last + INSTANT_MS, this.#ms);
    return this.#last;
  }

  /** Converts a monotonic time to wall-clock time. */
  readonly toWallTime = (moment: number): number =>
    this.jumps.reduce((wall, { at, byMs }) => (at <= moment ? wall + byMs : wall), EPOCH + moment);

  /**
   * Returns the clock of one life, or of the world.
   *
   * @param isTick for timers that repeat so often that stepping from one to the next would make no progress
   */
  clockOf(life?: ProcessLife, isTick = false): Clock {
    return {
      now: () => Math.floor(this.toWallTime(this.#ms)),
      monotonic: () => this.#ms,
      after: (waitMs, run) => {
        const timer = { dueAt: this.#ms + Math.max(0, waitMs), life, isTick, run };
        this.#timers.add(timer);
        return () => void this.#timers.delete(timer);
      },
    };
  }

  /** Advances to the next timer and fires it. */
  fireNext(): void {
    const next = this.#firstTimer(({ isTick }) => !isTick);
    if (next === undefined) return;
    const isOnTheWay = (timer: Timer) => timer.isTick && timer.dueAt <= next.dueAt;
    for (let tick = this.#firstTimer(isOnTheWay); tick !== undefined; tick = this.#firstTimer(isOnTheWay))
      this.#fire(tick);
    this.#fire(next);
  }

  /** Pauses the process: time passes, then all timers that are due fire before anything else happens. */
  pause(byMs: number): void {
    this.#ms += byMs;
    const due = [...this.#timers].filter(({ dueAt, life }) => dueAt <= this.#ms && life?.isDead !== true);
    due.sort((one, other) => one.dueAt - other.dueAt);
    for (const timer of due) if (this.#timers.has(timer)) this.#fire(timer);
  }

  /** Lets time pass while no process is alive. */
  advance(byMs: number): void {
    this.#ms += byMs;
  }

  #firstTimer(which: (timer: Timer) => boolean): Timer | undefined {
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

  /** Changes the wall clock. */
  jump(byMs: number): void {
    this.jumps.push({ at: this.timestamp(), byMs });
    this.#ms = Math.max(this.#ms, this.#last);
    // Ticks fire immediately after a jump. Two jumps between two ticks would otherwise look like one jump.
    for (const tick of [...this.#timers].filter(({ isTick, life }) => isTick && life?.isDead !== true)) {
      this.#timers.delete(tick);
      tick.run();
    }
  }
}
