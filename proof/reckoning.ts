import {
  type Arrival,
  about,
  type Crash,
  diedUnwritten,
  endOf,
  type Fate,
  heardAt,
  isExcused,
  isOfTest,
  type Ledgers,
  type StoredHook,
} from './ledgers.ts';

const FAILURES_THAT_END = 3;

/** What a hook may have in flight: while it is healthy, and while it fails (C22). */
const MOST_IN_FLIGHT = { healthy: 8, failing: 1 };

/** The most that a wait is lengthened by at random, and the longest that an answer can ask for (C18). */
const LONGEST_PART = 0.1;
const LONGEST_RETRY_AFTER_MS = 24 * 3_600_000;

/**
 * The rules of C17 to C19 worked out once more, from what its receiver saw alone. What a crash may have kept from being
 * written down leaves two fates open, until the database of that moment says which it was.
 */
export function wronglyRemoved(ledgers: Ledgers): string[] {
  const asks = Map.groupBy(ledgers.calls, (call) => ('path' in call ? call.path : ''));
  const arrivals = Map.groupBy(ledgers.arrivals, ({ path }) => path);
  return ledgers.database.hooks.flatMap((hook) => {
    const own = { ...ledgers, calls: asks.get(hook.path) ?? [], arrivals: arrivals.get(hook.path) ?? [] };
    const redeliveries = ledgers.calls.filter(({ did }) => did === 'redeliver');
    return new Reckoning({ ...own, calls: [...own.calls, ...redeliveries] }, hook).run();
  });
}

/** What happens to a hook, in the order in which it does. */
type Step = { readonly at: number } & (
  | { readonly begins: Arrival }
  | { readonly ends: Arrival }
  | { readonly crash: Crash }
  | { readonly ending: true }
  | { readonly restored: boolean }
);

/** What would be known had a failure in doubt been none. */
type Otherwise = { readonly fates: ReadonlySet<Fate>; readonly failureHeardAt: number };

class Reckoning {
  readonly #ledgers: Ledgers;
  readonly #hook: StoredHook;
  readonly #found: string[] = [];
  /** The ends of whoever tells this hook. */
  readonly #crashes: readonly Crash[];
  /** Undefined from when somebody has asked for its end until the database, or a restore, says where it stands. */
  #fates: ReadonlySet<Fate> | undefined = new Set([0]);
  /** Those of this life of the hook, and of the process. */
  readonly #inFlight = new Set<Arrival>();
  /** What was told, be it by an attempt from before the hook ended: nobody is to tell it again. */
  readonly #told = new Set<string>();
  #failureHeardAt = Number.NEGATIVE_INFINITY;
  /** Where it stands if that failure was none, while that is in doubt: others that failed in its burst count then. */
  #otherwise: Otherwise | undefined;
  /** The delivery that failed, and is tried again before any other; undefined where it is not known. */
  #retried: string | undefined;
  /** How many it can have earned to have in flight. */
  #earned = 1;
  /** When it may be told again, and when it has to be at the latest, by the clock on the wall. */
  #dueAt = Number.NEGATIVE_INFINITY;
  #restoredAt = Number.NEGATIVE_INFINITY;
  #latest = Number.POSITIVE_INFINITY;

  constructor(ledgers: Ledgers, hook: StoredHook) {
    this.#ledgers = ledgers;
    this.#hook = hook;
    this.#crashes = ledgers.crashes.filter(({ fates }) => fates.has(hook.path));
  }

  run(): string[] {
    for (const step of this.#steps()) {
      if ('begins' in step) this.#begin(step.begins);
      else if ('ends' in step) this.#end(step.ends);
      else if ('crash' in step) this.#pass(step.crash);
      else if ('ending' in step) this.#fates = undefined;
      else this.#restore(step.at, step.restored);
    }
    const { endedReason } = this.#hook;
    const fits = (fate: Fate) => (typeof fate === 'number' ? endedReason === null : fate === endedReason);
    const byHand = endedReason === 'deleted' || endedReason === 'user_deleted';
    if (!byHand && this.#fates !== undefined && ![...this.#possible(this.#fates)].some(fits)) {
      this.#say(`is ${endedReason ?? 'live'} at the end, and may be at ${[...this.#fates].join(' or ')}`);
    }
    return this.#found;
  }

  #steps(): Step[] {
    const { calls, arrivals } = this.#ledgers;
    const asked = (did: 'unsubscribe' | 'restore') => about(calls, did, this.#hook.path);
    const steps: Step[] = [
      ...arrivals.map((one) => ({ at: began(one), begins: one })),
      ...arrivals.map((one) => ({ at: knownAt(one), ends: one })),
      ...this.#crashes.map((crash) => ({ at: crash.at, crash })),
      ...asked('unsubscribe').map(({ askedAt }) => ({ at: askedAt, ending: true }) as const),
      ...asked('restore').map(({ askedAt, answeredAt }) => ({ at: askedAt, restored: answeredAt !== undefined })),
    ];
    return steps.sort((a, b) => a.at - b.at);
  }

  #say(what: string): void {
    this.#found.push(`${this.#hook.path} ${what}`);
  }

  #begin(one: Arrival): void {
    this.#inFlight.add(one);
    // Begun before the failure was known: part of the same burst (C18).
    if (this.#fates === undefined || this.#isOfBurst(one)) return;
    const at = began(one);
    if ([...this.#fates].every((fate) => typeof fate !== 'number')) this.#say(`told at ${at}, removed`);
    const [failures] = this.#fates;
    if (this.#fates.size > 1 || typeof failures !== 'number') return;
    const wall = this.#wallOf(at);
    const isAsked = this.#mayBeAsked(one);
    const { hearsWithinMs = 0 } = this.#ledgers;
    if (failures > 0 && !isAsked) {
      // Of two that fail at once, the one that was answered first need not be the one that is heard of first.
      if (
        hearsWithinMs === 0 &&
        this.#retried !== undefined &&
        this.#retried !== one.deliveryId &&
        !this.#told.has(this.#retried)
      ) {
        this.#say(`told ${one.deliveryId} at ${at}, while ${this.#retried} is to be tried again`);
      }
      // A wait that cannot be so long was begun while the clock was ahead, and is over.
      if (wall < this.#dueAt && this.#dueAt - wall <= this.#longestWaitMs) this.#say(`told at ${at}, in a wait`);
      if (wall > this.#latest) this.#say(`told at ${at}, later than a wait can be`);
      this.#latest = Number.POSITIVE_INFINITY;
    }
    const healthy = isAsked ? MOST_IN_FLIGHT.healthy : this.#earned;
    const most = failures > 0 ? MOST_IN_FLIGHT.failing : healthy;
    if (hearsWithinMs === 0 && this.#inFlight.size > most) {
      this.#say(`has ${this.#inFlight.size} in flight at ${at}, after ${failures} failures`);
    }
  }

  #end(one: Arrival): void {
    if (one.answer === 200) this.#told.add(one.deliveryId);
    // Our own end cut it off, and that is no failure of theirs (C19); or it is from before the hook ended, and lived again.
    if (!this.#inFlight.delete(one) || this.#fates === undefined) return;
    const excused = isExcused(this.#ledgers, one);
    if (excused === true) return;
    const asked = this.#mayBeAsked(one);
    if (asked && !isOfTest(this.#ledgers, one) && this.#wasCrashed(one)) {
      this.#fates = undefined;
      return;
    }
    const weight = excused === 'perhaps' && this.#weigh(one, asked) !== 'none' ? 'unknown' : this.#weigh(one, asked);
    const before = [...this.#fates];
    const verdicts = weight === 'none' ? before : before.map((fate) => after(fate, one.answer));
    const isInDoubt = this.#crashes.some((crash) => endOf(one) <= crash.at && diedUnwritten(this.#ledgers, crash, one));
    this.#fates = new Set(isInDoubt || weight === 'unknown' ? [...verdicts, ...before] : verdicts);
    if (this.#otherwise !== undefined && (one.answer === 200 || !asked)) {
      this.#otherwise = this.#inThatCase(this.#otherwise, one, isInDoubt);
    }
    if (weight !== 'none') this.#dueAt = Number.NEGATIVE_INFINITY;
    if (one.answer === 200) {
      // Beside a failure that may have been none, it may have earned something.
      const mayEarn = weight === 'full' || this.#fates.size > 1 || this.#otherwise !== undefined;
      if (mayEarn) this.#earned = Math.min(this.#earned + 1, MOST_IN_FLIGHT.healthy);
    } else if (weight === 'unknown') {
      this.#otherwise ??= { fates: new Set(before), failureHeardAt: this.#failureHeardAt };
      this.#failureHeardAt = heardAt(this.#ledgers, one);
    } else if (weight === 'full') this.#wait(one, verdicts[0]);
  }

  /** Whether an answer counts: one of a burst that has failed does not, nor does a failure of what was asked for (C18, X1, X3). */
  #weigh(one: Arrival, asked: boolean): 'full' | 'none' | 'unknown' {
    const sameBurst = this.#isOfBurst(one);
    if (one.answer === 401) return 'full';
    if (one.answer === 200) return sameBurst && !asked ? 'none' : 'full';
    if (sameBurst) return 'none';
    if (!asked) return 'full';
    // What is to be tried again anyway, or has come back with its hook, need not be what was asked for.
    const isTried = this.#retried === one.deliveryId || this.#restoredAt > Number.NEGATIVE_INFINITY;
    return isTried && !isOfTest(this.#ledgers, one) ? 'unknown' : 'none';
  }

  /** What an answer that counts comes to if the failure in doubt was none. */
  #inThatCase(otherwise: Otherwise, one: Arrival, isInDoubt: boolean): Otherwise {
    const { fates, failureHeardAt } = otherwise;
    if (began(one) < failureHeardAt && one.answer !== 401) return otherwise;
    const verdicts = [...fates].map((fate) => after(fate, one.answer));
    return {
      fates: new Set(isInDoubt ? [...verdicts, ...fates] : verdicts),
      failureHeardAt: one.answer === 200 ? failureHeardAt : heardAt(this.#ledgers, one),
    };
  }

  #possible(fates: ReadonlySet<Fate>): ReadonlySet<Fate> {
    return new Set([...fates, ...(this.#otherwise?.fates ?? [])]);
  }

  #wait(one: Arrival, fate: Fate | undefined): void {
    const { waitsMs, calmFrom = Number.POSITIVE_INFINITY } = this.#ledgers;
    this.#failureHeardAt = heardAt(this.#ledgers, one);
    this.#otherwise = undefined;
    this.#retried = one.deliveryId;
    this.#earned = 1;
    const waitMs = typeof fate === 'number' ? waitsMs?.[fate - 1] : undefined;
    if (waitMs === undefined) return;
    const askedMs = Math.min(one.retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS);
    const wall = this.#wallOf(knownAt(one));
    // A clock on the wall shows whole milliseconds.
    this.#dueAt = wall + Math.max(waitMs, askedMs) - 1;
    const longestMs = Math.max(waitMs * (1 + LONGEST_PART), askedMs) + 1;
    this.#latest = endOf(one) >= calmFrom ? wall + longestMs : Number.POSITIVE_INFINITY;
  }

  #pass({ at, fates }: Crash): void {
    const fate = fates.get(this.#hook.path);
    if (fate === undefined) return;
    this.#inFlight.clear();
    // A failure that went down with a crash counts when it comes again, however soon that is.
    this.#failureHeardAt = Number.NEGATIVE_INFINITY;
    this.#latest = Number.POSITIVE_INFINITY;
    if (this.#fates !== undefined && !this.#possible(this.#fates).has(fate)) {
      this.#say(`is at ${fate} after a crash at ${at}, and may be at ${[...this.#fates].join(' or ')}`);
    }
    this.#otherwise = undefined;
    this.#earned = 1;
    if (this.#fates?.size !== 1) {
      this.#dueAt = Number.NEGATIVE_INFINITY;
      this.#retried = undefined;
    }
    this.#fates = new Set([fate]);
  }

  #restore(at: number, isCertain: boolean): void {
    this.#restoredAt = at;
    this.#inFlight.clear();
    this.#failureHeardAt = Number.NEGATIVE_INFINITY;
    this.#otherwise = undefined;
    this.#dueAt = Number.NEGATIVE_INFINITY;
    this.#earned = 1;
    this.#retried = undefined;
    if (isCertain) this.#fates = new Set([0]);
    else if (this.#fates !== undefined) this.#fates = new Set([...this.#fates, 0]);
  }

  #isOfBurst(one: Arrival): boolean {
    return began(one) < this.#failureHeardAt;
  }

  /** An attempt that somebody asked for counts no failure, and waits for none (X1, X3). */
  #mayBeAsked(one: Arrival): boolean {
    const { calls } = this.#ledgers;
    const isOnce = calls.some(
      ({ askedAt, answeredAt = Number.POSITIVE_INFINITY, ...call }) =>
        call.did === 'redeliver' &&
        call.deliveryId === one.deliveryId &&
        askedAt <= one.at &&
        // What was asked for went with its hook.
        answeredAt > this.#restoredAt,
    );
    return isOnce || isOfTest(this.#ledgers, one);
  }

  /** After a crash, what was asked for cannot be told from what was left pending. */
  #wasCrashed({ deliveryId, at }: Arrival): boolean {
    return this.#ledgers.crashes.some((crash) => crash.at <= at && crash.pending.has(deliveryId));
  }

  get #longestWaitMs(): number {
    const waitsMs = this.#ledgers.waitsMs ?? [];
    return Math.max(LONGEST_RETRY_AFTER_MS, ...waitsMs.map((waitMs) => waitMs * (1 + LONGEST_PART)));
  }

  #wallOf(moment: number): number {
    return this.#ledgers.wallOf?.(moment) ?? moment;
  }
}

/** When it counts: as soon as it is heard of, or when it was answered, where nobody knows. */
const knownAt = (one: Arrival): number => one.heardAt ?? endOf(one);

const began = ({ began, at }: Arrival): number => began ?? at;

function after(fate: Fate, answer: number | undefined): Fate {
  if (typeof fate !== 'number') return fate;
  if (answer === 401) return 'answered_401';
  if (answer === 200) return 0;
  return fate + 1 === FAILURES_THAT_END ? 'three_failures' : fate + 1;
}
