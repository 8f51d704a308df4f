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
  | { readonly did: 'subscribe' | 'unsubscribe' | 'restore'; readonly path: string }
);

/** One notification, as a receiver saw it. */
export type Arrival = {
  /** The hook, by the path of its target. */
  readonly path: string;
  readonly deliveryId: string;
  readonly body: string;
  /** When its connection was there. */
  readonly at: number;
  readonly answeredAt: number | undefined;
  /** The status that was answered; undefined for none. */
  readonly answer: number | undefined;
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

/** An outcome that was seen so shortly before a crash may not have been written down. */
const LONGEST_SETTLING_MS = 2_000;

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
const about = (calls: readonly Call[], did: 'subscribe' | 'unsubscribe' | 'restore', path: string) =>
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

function lost({ calls, database }: Ledgers): string[] {
  const deleted = deletedIn(calls);
  const told = new Set(database.occurrences.map(({ kind, record }) => `${kind} ${record}`));
  return occurring(calls)
    .filter(({ answeredAt, record }) => answeredAt !== undefined && record !== undefined)
    .filter(
      ({ kind, record = '' }) =>
        !told.has(`${kind} ${record}`) || !(database.records.has(record) || deleted.has(record)),
    )
    .map(({ kind, record }) => `${kind} ${record}`);
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
  const there = (record: string) => database.records.has(record) || deleted.has(record);
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
  return arrivals
    .filter(({ path, body }) => {
      const hook = hooks.get(path);
      const fact = facts.get(`${hook?.kind} ${recordIn(body)}`);
      // What is nowhere is a phantom, and counted there.
      if (fact === undefined) return database.records.has(recordIn(body));
      const [{ askedAt: since = Number.POSITIVE_INFINITY } = {}] = about(calls, 'subscribe', path);
      const { answeredAt = Number.POSITIVE_INFINITY } = causeOf(fact) ?? {};
      return fact.userId !== hook?.userId || answeredAt < since;
    })
    .map(({ path, body }) => `${path} ${body}`);
}

function malformed({ arrivals }: Ledgers): string[] {
  return arrivals
    .filter(({ body, deliveryId }) => recordIn(body) === '' || !/^\d+$/.test(deliveryId))
    .map(({ path, deliveryId, body }) => `${path} ${deliveryId} ${body}`);
}

/** After its 200, or while it is still being answered, a delivery comes again only over a crash that had left it owed. */
function repeated({ arrivals, crashes }: Ledgers): string[] {
  const excuses = (earlier: Arrival, later: Arrival) =>
    crashes.some(({ at, owed }) => earlier.at <= at && at <= later.at && owed.has(earlier.deliveryId));
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
  return ledgers.database.hooks.flatMap((hook) => {
    if (hook.endedReason === 'deleted' || hook.endedReason === 'user_deleted') return [];
    if (about(ledgers.calls, 'restore', hook.path).length > 0) return [];
    return reckon(ledgers, hook);
  });
}

function reckon(
  { arrivals, crashes, waitsMs, hearsWithinMs = 0 }: Ledgers,
  { path, endedReason }: StoredHook,
): string[] {
  const found: string[] = [];
  let fates: ReadonlySet<Fate> = new Set([0]);
  let failedAt = Number.NEGATIVE_INFINITY;
  const outcomes = arrivals.filter((one) => one.path === path).toSorted((a, b) => end(a) - end(b));
  const crashed = [...crashes];
  const passCrashes = (until: number) => {
    for (let next = crashed[0]; next !== undefined && next.at <= until; next = crashed[0]) {
      crashed.shift();
      const fate = next.fates.get(path);
      if (fate === undefined) continue;
      if (!fates.has(fate)) found.push(`${path} is at ${fate} after a crash, and may be at ${[...fates].join(' or ')}`);
      fates = new Set([fate]);
    }
  };
  for (const one of outcomes) {
    passCrashes(end(one));
    // Our own end cut it off: that is no failure of theirs (C19).
    if (crashes.some(({ at }) => one.at <= at && at < end(one))) continue;
    // Begun before the failure that it comes after: part of the same burst (C18).
    const sameBurst = one.at < failedAt + hearsWithinMs;
    if (!sameBurst && [...fates].every((fate) => typeof fate !== 'number')) found.push(`${path} at ${one.at}, removed`);
    const [failures] = fates;
    const waitMs = typeof failures === 'number' && fates.size === 1 ? waitsMs?.[failures - 1] : undefined;
    if (!sameBurst && waitMs !== undefined && one.at < failedAt + waitMs) found.push(`${path} at ${one.at}, in a wait`);
    const verdicts = [...fates].map((fate) => (sameBurst && one.answer !== 401 ? fate : after(fate, one.answer)));
    const isInDoubt = crashed[0] !== undefined && crashed[0].at < end(one) + LONGEST_SETTLING_MS;
    if (!sameBurst && one.answer !== 200) failedAt = end(one);
    fates = new Set(isInDoubt ? [...verdicts, ...fates] : verdicts);
  }
  passCrashes(Number.POSITIVE_INFINITY);
  const fits = [...fates].some((fate) => (typeof fate === 'number' ? endedReason === null : fate === endedReason));
  if (!fits) found.push(`${path} is ${endedReason ?? 'live'} at the end, and may be at ${[...fates].join(' or ')}`);
  return found;
}

const end = ({ at, answeredAt }: Arrival): number => answeredAt ?? at;

function after(fate: Fate, answer: number | undefined): Fate {
  if (typeof fate !== 'number') return fate;
  if (answer === 401) return 'answered_401';
  if (answer === 200) return 0;
  return fate + 1 === FAILURES_THAT_END ? 'three_failures' : fate + 1;
}
