import type { Kind } from '../src/delivery/kinds.ts';

/**
 * Three ledgers of the same records: what clients asked for, what receivers heard, what the database holds in the end.
 * The test writes the first two itself, as it happens, so that nothing that dies can take them along. Moments are
 * milliseconds of one clock that clients and receivers share; a record is named by its address.
 */
export type Ledgers = {
  readonly calls: readonly Call[];
  readonly arrivals: readonly Arrival[];
  readonly database: Database;
  /** In order. */
  readonly crashes: readonly Crash[];
  /** How long a hook waits at least after its first and its second failure; what is not given is not looked at. */
  readonly waitsMs?: readonly number[];
  /** How long an answer takes at most until the service knows of it; 0 where one clock drives both. */
  readonly hearsWithinMs?: number;
  /** How long what a service knows may take at most to be written down. */
  readonly settlesWithinMs?: number;
  /** What the clock on the wall, by which waits are measured, showed at a moment; where somebody sets it. */
  readonly wallOf?: (moment: number) => number;
  /** From here on nothing keeps a wait from ending when it should. */
  readonly calmFrom?: number;
};

/** What a client asked for that changes something. Left out is what was refused: it did nothing. */
export type Call = {
  readonly askedAt: number;
  /** Undefined where the answer never came: whether it was done, only the database knows. */
  readonly answeredAt: number | undefined;
} & (
  | {
      readonly did: 'occur';
      readonly kind: Kind;
      readonly userId: string;
      /** The record, if it is known, and a word in it that stands in no other one. */
      readonly record: string | undefined;
      readonly word: string;
    }
  | { readonly did: 'delete'; readonly record: string }
  | { readonly did: 'subscribe' | 'unsubscribe' | 'restore' | 'test'; readonly path: string }
  /** Of what had been told. */
  | { readonly did: 'redeliver'; readonly deliveryId: string }
);

/** One notification, as a receiver saw it. */
export type Arrival = {
  /** The hook, by the path of its target. */
  readonly path: string;
  readonly deliveryId: string;
  readonly body: string;
  /** When its connection was there. */
  readonly at: number;
  /** When its attempt began, where that is known: before it was there. */
  readonly began?: number;
  readonly answeredAt: number | undefined;
  /** The status that was answered; undefined for none. */
  readonly answer: number | undefined;
  /** How long the answer asked to be left alone. */
  readonly retryAfterMs?: number;
  /** What a GET of the record answered before this was; undefined where nobody asked. */
  readonly fetched?: number;
};

/** What the database holds when everything is over. */
export type Database = {
  /** The word of each record, by address. */
  readonly records: ReadonlyMap<string, string>;
  readonly occurrences: readonly { readonly kind: string; readonly userId: string; readonly record: string }[];
  readonly hooks: readonly StoredHook[];
  /** Deliveries that live hooks are still owed. */
  readonly owed: number;
};

export type StoredHook = {
  readonly path: string;
  readonly kind: string;
  readonly userId: string;
  /** Why it ended; null while it lives. */
  readonly endedReason: string | null;
  /** Its own address, which a test of it tells. */
  readonly address?: string;
};

/** The end of a process that delivers, and what its database then held. */
export type Crash = {
  readonly at: number;
  /** Deliveries, by id. */
  readonly owed: ReadonlySet<string>;
  /** What had become of each hook, by the path of its target. */
  readonly fates: ReadonlyMap<string, Fate>;
};

/** What has become of a hook: how many failures in a row it has, or why it was removed. */
export type Fate = number | 'answered_401' | 'three_failures';

/** Something that should not be, and the promise that it breaks. */
export type Fault = { readonly clause: string; readonly what: keyof typeof rules; readonly says: string };

const FAILURES_THAT_END = 3;

const LONGEST_SETTLING_MS = 2_000;

/** What a hook may have in flight: while it is healthy, and while it fails (C22). */
const MOST_IN_FLIGHT = { healthy: 8, failing: 1 };

/** The most that a wait is lengthened by at random, and the longest that an answer can ask for (C18). */
const LONGEST_PART = 0.1;
const LONGEST_RETRY_AFTER_MS = 24 * 3_600_000;

/** What cannot be, in any run of the service whatever. */
const rules = {
  'acknowledged and lost': ['C20', lost],
  'owed and not told': ['C20', untold],
  'still owed at the end': ['C20', leftOwed],
  'told and not there': ['C16', phantom],
  'told before it could be fetched': ['C16', notFetchable],
  'told to somebody else': ['C14', misdirected],
  'told in other words': ['C15', malformed],
  'told again for no reason': ['C20', repeated],
  'told after the end': ['C13', afterTheEnd],
  'removed, or not, against the count': ['C17', wronglyRemoved],
} as const;

/** Lays the ledgers side by side. No fault is the promise kept. */
export function check(ledgers: Ledgers): readonly Fault[] {
  return (Object.keys(rules) as (keyof typeof rules)[]).flatMap((what) => {
    const [clause, find] = rules[what];
    return find(ledgers).map((says): Fault => ({ clause, what, says }));
  });
}

/** How many faults of each kind there are; every kind is named, also those without any. */
export function countFaults(faults: readonly Fault[]): Record<string, number> {
  return Object.fromEntries(Object.keys(rules).map((what) => [what, faults.filter((one) => one.what === what).length]));
}

export const sayFault = ({ clause, what, says }: Fault): string => `${clause} ${what}: ${says}`;

type Occurring = Extract<Call, { did: 'occur' }>;
type Occurrence = Database['occurrences'][number];

const recordIn = (body: string): string => /^\{"resource_url":"([^"\\]+)"\}$/.exec(body)?.[1] ?? '';
const occurring = (calls: readonly Call[]) => calls.filter((call): call is Occurring => call.did === 'occur');
const about = (calls: readonly Call[], did: 'subscribe' | 'unsubscribe' | 'restore' | 'test', path: string) =>
  calls.filter((call) => call.did === did && call.path === path);

/** Those records that somebody asked to be deleted. */
function deletedIn(calls: readonly Call[]): ReadonlySet<string> {
  return new Set(calls.flatMap((call) => (call.did === 'delete' ? [call.record] : [])));
}

/** The call that made something occur: by the record, or by the word in it where the answer never came. */
function causes({ calls, database }: Ledgers): (occurrence: Occurrence) => Occurring | undefined {
  const byRecord = new Map(occurring(calls).map((call) => [`${call.kind} ${call.record}`, call]));
  const byWord = new Map(occurring(calls).map((call) => [`${call.kind} ${call.word}`, call]));
  return ({ kind, record }) =>
    byRecord.get(`${kind} ${record}`) ?? byWord.get(`${kind} ${database.records.get(record) ?? ''}`);
}

/**
 * A record that was acknowledged is there, or was deleted; one whose deletion was acknowledged is not. If two were told
 * that the same one is theirs, it was lost to the first, and its number given out again.
 */
function lost({ calls, database }: Ledgers): string[] {
  const deleted = deletedIn(calls);
  const told = new Set(database.occurrences.map(({ kind, record }) => `${kind} ${record}`));
  const gone = calls.flatMap((call) => (call.did === 'delete' && call.answeredAt !== undefined ? [call.record] : []));
  const acknowledged = occurring(calls).filter((one) => one.answeredAt !== undefined && one.record !== undefined);
  const made = acknowledged.filter(({ kind }) => kind.startsWith('new_')).map(({ record = '' }) => record);
  const again = [...Map.groupBy(made, (record) => record)].flatMap(([, all]) => all.slice(1));
  const missing = acknowledged
    .filter(
      ({ kind, record = '' }) =>
        !told.has(`${kind} ${record}`) || !(database.records.has(record) || deleted.has(record)),
    )
    .map(({ kind, record }) => `${kind} ${record}`);
  return [
    ...missing,
    ...again.map((record) => `${record}, which another one has`),
    ...gone.filter((record) => database.records.has(record)).map((record) => `deleted ${record}`),
  ];
}

/** Every hook that lives has heard, with a 200, of all that its user caused since it was there. */
function untold(ledgers: Ledgers): string[] {
  const { calls, arrivals, database } = ledgers;
  const causeOf = causes(ledgers);
  const heard = new Set(arrivals.filter((one) => one.answer === 200).map((one) => `${one.path} ${recordIn(one.body)}`));
  return database.hooks
    .filter(({ endedReason }) => endedReason === null)
    .flatMap((hook) => {
      const [{ answeredAt: since = Number.POSITIVE_INFINITY } = {}] = about(calls, 'subscribe', hook.path);
      return database.occurrences
        .filter(({ kind, userId }) => kind === hook.kind && userId === hook.userId)
        .filter((occurrence) => (causeOf(occurrence)?.askedAt ?? -1) >= since)
        .filter(({ record }) => !heard.has(`${hook.path} ${record}`))
        .map(({ record }) => `${hook.path} ${record}`);
    });
}

function leftOwed({ database }: Ledgers): string[] {
  return database.owed === 0 ? [] : [`${database.owed} deliveries`];
}

function phantom({ calls, arrivals, database }: Ledgers): string[] {
  const deleted = deletedIn(calls);
  const hooks = new Set(database.hooks.map(({ address }) => address));
  const there = (record: string) => database.records.has(record) || deleted.has(record) || hooks.has(record);
  return arrivals.filter(({ body }) => !there(recordIn(body))).map(({ path, body }) => `${path} ${body}`);
}

function notFetchable({ calls, arrivals }: Ledgers): string[] {
  const deleted = deletedIn(calls);
  return arrivals
    .filter(({ fetched = 200, body }) => fetched !== 200 && !(fetched === 404 && deleted.has(recordIn(body))))
    .map(({ path, body, fetched }) => `${path} ${body}: ${fetched}`);
}

/** Each arrival is of an occurrence of its hook's kind and user, and not of one that was over before the hook was asked for. */
function misdirected(ledgers: Ledgers): string[] {
  const { calls, arrivals, database } = ledgers;
  const causeOf = causes(ledgers);
  const facts = new Map(database.occurrences.map((one) => [`${one.kind} ${one.record}`, one]));
  const hooks = new Map(database.hooks.map((hook) => [hook.path, hook]));
  const addresses = new Set(database.hooks.map(({ address }) => address));
  return arrivals
    .filter(({ path, body }) => {
      const hook = hooks.get(path);
      const fact = facts.get(`${hook?.kind} ${recordIn(body)}`);
      if (isOfTest(ledgers, path, body)) return false;
      // What is nowhere is a phantom, and counted there.
      if (fact === undefined) return database.records.has(recordIn(body)) || addresses.has(recordIn(body));
      const [{ askedAt: since = Number.POSITIVE_INFINITY } = {}] = about(calls, 'subscribe', path);
      const { answeredAt = Number.POSITIVE_INFINITY } = causeOf(fact) ?? {};
      return fact.userId !== hook?.userId || answeredAt < since;
    })
    .map(({ path, body }) => `${path} ${body}`);
}

/** A test tells the hook of itself, and was asked for (X1). */
function isOfTest({ calls, database }: Ledgers, path: string, body: string): boolean {
  const record = recordIn(body);
  const isOwn = record !== '' && database.hooks.some((hook) => hook.path === path && hook.address === record);
  return isOwn && about(calls, 'test', path).length > 0;
}

function malformed({ arrivals }: Ledgers): string[] {
  return arrivals
    .filter(({ body, deliveryId }) => recordIn(body) === '' || !/^\d+$/.test(deliveryId))
    .map(({ path, deliveryId, body }) => `${path} ${deliveryId} ${body}`);
}

/**
 * After its 200, or while it is still being answered, a delivery comes again only over a crash that had left it owed, or
 * because somebody asks for it: for this delivery (X3), or for all that was undelivered when its hook ended (X1).
 */
function repeated({ calls, arrivals, crashes, settlesWithinMs = 0 }: Ledgers): string[] {
  const asks = Map.groupBy(
    calls.flatMap((call) => (call.did === 'redeliver' ? [call] : [])),
    ({ deliveryId }) => deliveryId,
  );
  const excuses = (earlier: Arrival, later: Arrival) =>
    crashes.some(({ at, owed }) => earlier.at <= at && at <= later.at && owed.has(earlier.deliveryId)) ||
    (asks.get(later.deliveryId) ?? []).some(({ askedAt }) => askedAt <= later.at) ||
    about(calls, 'restore', later.path).some(
      ({ askedAt }) => earlier.at <= askedAt && askedAt <= later.at && askedAt <= end(earlier) + settlesWithinMs,
    );
  const found: string[] = [];
  for (const same of Map.groupBy(arrivals, (one) => `${one.path} ${one.deliveryId}`).values()) {
    const inOrder = same.toSorted((a, b) => a.at - b.at);
    for (const [index, later] of inOrder.entries()) {
      const earlier = inOrder[index - 1];
      if (earlier === undefined) continue;
      const failed = earlier.answer !== 200 && (earlier.answeredAt ?? Number.NEGATIVE_INFINITY) <= later.at;
      if (!failed && !excuses(earlier, later)) found.push(`${later.path} ${later.deliveryId} at ${later.at}`);
    }
  }
  return found;
}

/** From the answer to its DELETE on, nothing begins, until somebody asks for the hook again. */
function afterTheEnd({ calls, arrivals }: Ledgers): string[] {
  return arrivals
    .filter(({ path, at }) => {
      const ends = about(calls, 'unsubscribe', path).map(({ answeredAt = Number.POSITIVE_INFINITY }) => answeredAt);
      const ended = Math.max(Number.NEGATIVE_INFINITY, ...ends.filter((end) => end < at));
      const again = [...about(calls, 'restore', path), ...about(calls, 'subscribe', path)];
      return ended > Number.NEGATIVE_INFINITY && !again.some(({ askedAt }) => askedAt >= ended && askedAt <= at);
    })
    .map(({ path, at }) => `${path} at ${at}`);
}

/**
 * The rules of C17 to C19 worked out once more, from what its receiver saw alone. What a crash may have kept from being
 * written down leaves two fates open, until the database of that moment says which it was.
 */
function wronglyRemoved(ledgers: Ledgers): string[] {
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
  #failedAt = Number.NEGATIVE_INFINITY;
  /** When it may be told again, and when it has to be at the latest, by the clock on the wall. */
  #dueAt = Number.NEGATIVE_INFINITY;
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
      else this.#restore(step.restored);
    }
    const { endedReason } = this.#hook;
    const fits = (fate: Fate) => (typeof fate === 'number' ? endedReason === null : fate === endedReason);
    const byHand = endedReason === 'deleted' || endedReason === 'user_deleted';
    if (!byHand && this.#fates !== undefined && ![...this.#fates].some(fits)) {
      this.#say(`is ${endedReason ?? 'live'} at the end, and may be at ${[...this.#fates].join(' or ')}`);
    }
    return this.#found;
  }

  #steps(): Step[] {
    const { calls, arrivals } = this.#ledgers;
    const asked = (did: 'unsubscribe' | 'restore') => about(calls, did, this.#hook.path);
    const steps: Step[] = [
      ...arrivals.map((one) => ({ at: began(one), begins: one })),
      ...arrivals.map((one) => ({ at: end(one), ends: one })),
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
    if (failures > 0 && !this.#mayBeAsked(one)) {
      if (wall < this.#dueAt) this.#say(`told at ${at}, in a wait`);
      if (wall > this.#latest) this.#say(`told at ${at}, later than a wait can be`);
      this.#latest = Number.POSITIVE_INFINITY;
    }
    const most = failures > 0 ? MOST_IN_FLIGHT.failing : MOST_IN_FLIGHT.healthy;
    const { hearsWithinMs = 0 } = this.#ledgers;
    if (hearsWithinMs === 0 && this.#inFlight.size > most) {
      this.#say(`has ${this.#inFlight.size} in flight at ${at}, after ${failures} failures`);
    }
  }

  #end(one: Arrival): void {
    // Our own end cut it off, and that is no failure of theirs (C19); or it is from before the hook ended, and lived again.
    if (!this.#inFlight.delete(one) || this.#fates === undefined) return;
    const asked = this.#mayBeAsked(one);
    if (asked && !isOfTest(this.#ledgers, one.path, one.body) && this.#wasCrashed(one)) {
      this.#fates = undefined;
      return;
    }
    const sameBurst = this.#isOfBurst(one);
    const changesNothing = one.answer !== 401 && (one.answer === 200 ? sameBurst && !asked : sameBurst || asked);
    const { settlesWithinMs = LONGEST_SETTLING_MS } = this.#ledgers;
    const before = [...this.#fates];
    const verdicts = before.map((fate) => (changesNothing ? fate : after(fate, one.answer)));
    const isInDoubt = this.#crashes.some(({ at }) => end(one) <= at && at < end(one) + settlesWithinMs);
    this.#fates = new Set(isInDoubt ? [...verdicts, ...before] : verdicts);
    if (changesNothing) return;
    if (one.answer === 200) this.#dueAt = Number.NEGATIVE_INFINITY;
    else this.#wait(one, verdicts[0]);
  }

  #wait(one: Arrival, fate: Fate | undefined): void {
    const { waitsMs, calmFrom = Number.POSITIVE_INFINITY } = this.#ledgers;
    this.#failedAt = end(one);
    const waitMs = typeof fate === 'number' ? waitsMs?.[fate - 1] : undefined;
    if (waitMs === undefined) return;
    const askedMs = Math.min(one.retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS);
    const wall = this.#wallOf(end(one));
    // A clock on the wall shows whole milliseconds.
    this.#dueAt = wall + Math.max(waitMs, askedMs) - 1;
    const longestMs = Math.max(waitMs * (1 + LONGEST_PART), askedMs) + 1;
    this.#latest = end(one) >= calmFrom ? wall + longestMs : Number.POSITIVE_INFINITY;
  }

  #pass({ at, fates }: Crash): void {
    const fate = fates.get(this.#hook.path);
    if (fate === undefined) return;
    this.#inFlight.clear();
    // A failure that went down with a crash counts when it comes again, however soon that is.
    this.#failedAt = Number.NEGATIVE_INFINITY;
    this.#latest = Number.POSITIVE_INFINITY;
    if (this.#fates !== undefined && !this.#fates.has(fate)) {
      this.#say(`is at ${fate} after a crash at ${at}, and may be at ${[...this.#fates].join(' or ')}`);
    }
    if (this.#fates?.size !== 1) this.#dueAt = Number.NEGATIVE_INFINITY;
    this.#fates = new Set([fate]);
  }

  #restore(isCertain: boolean): void {
    this.#inFlight.clear();
    this.#failedAt = Number.NEGATIVE_INFINITY;
    this.#dueAt = Number.NEGATIVE_INFINITY;
    if (isCertain) this.#fates = new Set([0]);
    else if (this.#fates !== undefined) this.#fates = new Set([...this.#fates, 0]);
  }

  #isOfBurst(one: Arrival): boolean {
    return began(one) < this.#failedAt + (this.#ledgers.hearsWithinMs ?? 0);
  }

  /** An attempt that somebody asked for counts no failure, and waits for none (X1, X3). */
  #mayBeAsked(one: Arrival): boolean {
    const { calls } = this.#ledgers;
    const isOnce = calls.some(
      (call) => call.did === 'redeliver' && call.deliveryId === one.deliveryId && call.askedAt <= one.at,
    );
    return isOnce || isOfTest(this.#ledgers, one.path, one.body);
  }

  /** After a crash, what was asked for cannot be told from what was left owed. */
  #wasCrashed({ deliveryId, at }: Arrival): boolean {
    return this.#ledgers.crashes.some((crash) => crash.at <= at && crash.owed.has(deliveryId));
  }

  #wallOf(moment: number): number {
    return this.#ledgers.wallOf?.(moment) ?? moment;
  }
}

const began = ({ began, at }: Arrival): number => began ?? at;
const end = ({ at, answeredAt }: Arrival): number => answeredAt ?? at;

function after(fate: Fate, answer: number | undefined): Fate {
  if (typeof fate !== 'number') return fate;
  if (answer === 401) return 'answered_401';
  if (answer === 200) return 0;
  return fate + 1 === FAILURES_THAT_END ? 'three_failures' : fate + 1;
}
