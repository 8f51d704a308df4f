import type { Kind } from '../../../src/delivery/outbox/event-kinds.ts';
import type { HookStatus } from './delivery-checker.ts';

/**
 * Three history of the same records: what clients asked for, what receivers heard, what the database holds in the end.
 * The test writes the first two itself, as it happens, so that nothing that dies can take them along. Moments are
 * milliseconds of one clock that clients and receivers share; a record is named by its address.
 */
export type History = {
  readonly calls: readonly Call[];
  readonly arrivals: readonly Arrival[];
  readonly database: Database;
  /** In order. */
  readonly crashes: readonly Crash[];
  /** When a process that delivers stood still, in order. */
  readonly pauses?: readonly Pause[];
  /** How long a hook waits at least after its first and its second failure; what is not given is not looked at. */
  readonly waitsMs?: readonly number[];
  /** How long an answer takes at most until the service knows of it, where that is not known of each. */
  readonly maxResultDelayMs?: number;
  /** How long what a service knows may take at most to be written down; it may depend on when it came to know. */
  readonly settlesWithinMs?: number | ((since: number) => number);
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
      /** What it belongs to, and is completed with. */
      readonly above?: string;
    }
  | { readonly did: 'delete'; readonly record: string }
  | { readonly did: 'subscribe'; readonly path: string; readonly kind: Kind; readonly userId: string }
  | { readonly did: 'restore'; readonly path: string }
  /** By itself, or with the user whose hook it is. */
  | { readonly did: 'unsubscribe'; readonly path: string; readonly withUser?: true }
  /** By which id it is told, where that was answered. */
  | { readonly did: 'test'; readonly path: string; readonly deliveryId?: string }
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
  /** When whoever told it had heard of that, where it is known. */
  readonly heardAt?: number;
  /** The status that was answered; undefined for none. */
  readonly answer: number | undefined;
  /** The process that told it was paused meanwhile, for so long that no answer is no failure (C19). */
  readonly isExcused?: true;
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
  /** Deliveries that live hooks are still pending. */
  readonly pending: number;
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
  /** When it was killed, where that is known: by `at` nothing of it is on its way any more. */
  readonly killedAt?: number;
  /** Deliveries, by id. */
  readonly pending: ReadonlySet<string>;
  /** What had become of each hook, by the path of its target. */
  readonly fates: ReadonlyMap<string, HookStatus>;
};

/**
 * A pause of the process that delivers, longer than an attempt may take: it stood still from `stoppedAt` on, from `from` on
 * perhaps, until `to`.
 */
export type Pause = { readonly from: number; readonly stoppedAt: number; readonly to: number };

/** The record that a notification names; empty where its body is anything else than that (C15). */
export const recordIn = (body: string): string => /^\{"resource_url":"([^"\\]+)"\}$/.exec(body)?.[1] ?? '';

type AboutHook = Extract<Call, { did: 'subscribe' | 'unsubscribe' | 'restore' | 'test' | 'redeliver' }>;

/** An index for each list of calls: a search per arrival would slow down the run that is observed. */
const indexes = new WeakMap<readonly Call[], ReadonlyMap<string, readonly AboutHook[]>>();

/** The calls of one sort about one hook, by the path of its target; redeliveries by the id of the delivery. */
export function about<Did extends AboutHook['did']>(calls: readonly Call[], did: Did, subject: string) {
  const index = indexes.get(calls) ?? Map.groupBy(calls.filter(isAboutHook), keyOf);
  indexes.set(calls, index);
  return (index.get(`${did} ${subject}`) ?? []) as readonly Extract<AboutHook, { did: Did }>[];
}

const isAboutHook = (call: Call): call is AboutHook => 'path' in call || call.did === 'redeliver';
const keyOf = (call: AboutHook): string => `${call.did} ${'path' in call ? call.path : call.deliveryId}`;

export type Occurring = Extract<Call, { did: 'occur' }>;
export type Occurrence = Database['occurrences'][number];

export const occurring = (calls: readonly Call[]) => calls.filter((call): call is Occurring => call.did === 'occur');

/** Whether a kind of occurrence is the end of a record. */
export const isEnd = (kind: string): boolean => kind.startsWith('deleted_');

/** Those records that somebody asked to be deleted. */
export function deletedIn(calls: readonly Call[]): ReadonlySet<string> {
  return new Set(calls.flatMap((call) => (call.did === 'delete' ? [call.record] : [])));
}

/**
 * The call that made something occur: by the record, or by the word in it where the answer never came; of a subtask that was
 * completed unasked, the completion of its task.
 */
export function causes({
  calls,
  database,
}: Pick<History, 'calls' | 'database'>): (what: Occurrence) => Occurring | undefined {
  const all = occurring(calls);
  const byRecord = new Map(
    all.filter(({ record }) => record !== undefined).map((call) => [`${call.kind} ${call.record}`, call]),
  );
  const byWord = new Map(
    all.filter(({ record }) => record === undefined).map((call) => [`${call.kind} ${call.word}`, call]),
  );
  const own = (kind: string, record: string) =>
    byRecord.get(`${kind} ${record}`) ?? byWord.get(`${kind} ${database.records.get(record) ?? ''}`);
  return ({ kind, record }) => {
    const found = own(kind, record);
    if (found !== undefined || kind !== 'completed_subtask') return found;
    return byRecord.get(`completed_task ${own('new_subtask', record)?.above}`);
  };
}

/** When an attempt was over, as far as its receiver knows. */
export const endOf = ({ at, answeredAt }: Arrival): number => answeredAt ?? at;

/** When something is over at the latest that takes so long from a moment on, and does not go on during a pause. */
function extendedByPauses({ pauses = [] }: Pick<History, 'pauses'>, since: number, takesMs: number): number {
  return pauses.reduce((by, { from, to }) => (from <= by && to >= since ? to + takesMs : by), since + takesMs);
}

/** When whoever told it knew that, at the latest. */
export const heardAt = (history: Pick<History, 'maxResultDelayMs' | 'pauses'>, one: Arrival): number =>
  one.heardAt ?? extendedByPauses(history, endOf(one), history.maxResultDelayMs ?? 0);

/** By when at the latest it is written down what came of an attempt: what ends before may not know of it. */
export function writtenBy(history: Pick<History, 'settlesWithinMs' | 'pauses'>, one: Arrival): number {
  const { settlesWithinMs = 0 } = history;
  const end = endOf(one);
  return extendedByPauses(history, end, typeof settlesWithinMs === 'number' ? settlesWithinMs : settlesWithinMs(end));
}

/**
 * Whether it is no failure that an attempt had no answer, since its process was paused meanwhile (C19): certainly where it
 * was in flight when that stood still already, perhaps where it was over, or began, at about that time.
 */
export function isExcused(history: History, one: Arrival): boolean | 'perhaps' {
  if (one.answer !== undefined) return false;
  if (one.isExcused) return true;
  const { pauses = [], maxResultDelayMs = 0 } = history;
  if (pauses.some(({ from, stoppedAt }) => one.at <= from && endOf(one) >= stoppedAt)) return true;
  const isNear = ({ from, to }: Pause) => one.at <= to + maxResultDelayMs && heardAt(history, one) >= from;
  return pauses.some(isNear) && 'perhaps';
}

/** Whether an attempt was given up after a pause, at a moment at which its receiver had not answered yet. */
export const isGivenUp = (pauses: readonly Pause[], one: Arrival): boolean =>
  pauses.some(({ to }) => one.at <= to && endOf(one) >= to);

/**
 * Whether a process died so soon after an attempt that what came of it may not have been written down. It is known to be dead
 * later than it died: where its database went with it, by as long as that took to be there again.
 */
export const diedUnwritten = (
  history: Pick<History, 'settlesWithinMs' | 'pauses'>,
  crash: Crash,
  one: Arrival,
): boolean => (crash.killedAt ?? crash.at) <= writtenBy(history, one);

/** A test tells the hook of itself, and was asked for (X1). */
export function isOfTest({ calls, database }: History, { path, body, at: moment }: Arrival): boolean {
  const record = recordIn(body);
  const isOwn = record !== '' && database.hooks.some((hook) => hook.path === path && hook.address === record);
  return isOwn && about(calls, 'test', path).some(({ askedAt }) => askedAt <= moment);
}
