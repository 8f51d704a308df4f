import type { OccurrenceKind } from '../../../src/delivery/outbox/event-kinds.ts';
import { type Attempt, DeliveryChecker, type HookStatus } from './delivery-checker.ts';

/**
 * History of one run: the calls of clients, the notifications that receivers got, and the final content of the
 * database. The test process records calls and notifications as they happen, so no crash of the service loses
 * them. Times are milliseconds of one monotonic clock; a record is identified by its address.
 */
export type History = {
  readonly calls: readonly ClientCall[];
  readonly arrivals: readonly Arrival[];
  readonly database: DatabaseContent;
  /** Crashes of delivering processes, in order of time. */
  readonly crashes: readonly Crash[];
  /** Pauses of delivering processes, in order of time. */
  readonly pauses?: readonly Pause[];
  /**
   * Minimum backoffs after the first and the second failure, in milliseconds. A backoff that is missing here is
   * not checked.
   */
  readonly waitsMs?: readonly number[];
  /**
   * Maximum time between a response and the time at which the service knows the response. It applies to arrivals
   * without a recorded `resultKnownAt`.
   */
  readonly maxResultDelayMs?: number;
  /** Maximum time until a known result is committed. It may depend on the time at which the service knew the result. */
  readonly settlesWithinMs?: number | ((since: number) => number);
  /**
   * Converts a monotonic time to wall-clock time, for runs that set the clock. Backoffs are measured with the wall
   * clock.
   */
  readonly toWallTime?: (moment: number) => number;
  /** From this time on nothing delays a retry. */
  readonly calmFrom?: number;
};

/** A change that a client requested. Rejected requests are left out: they had no effect. */
export type ClientCall = {
  readonly askedAt: number;
  /** Undefined if there was no response. Then only the database shows whether the request took effect. */
  readonly answeredAt: number | undefined;
} & (
  | {
      readonly did: 'occur';
      readonly kind: OccurrenceKind;
      readonly userId: string;
      /** Address of the record; undefined if the response is unknown. */
      readonly record: string | undefined;
      /** A word in the record that no other record contains. */
      readonly word: string;
      /** Address of the parent record. Its completion also completes this record. */
      readonly above?: string;
    }
  | { readonly did: 'delete'; readonly record: string }
  | ({ readonly did: 'subscribe'; readonly path: string; readonly userId: string } & Subscription & FeedSpan)
  | ({ readonly did: 'restore'; readonly path: string } & FeedSpan)
  /** A change of a hook (X13). What is left out stays as it is. */
  | ({
      readonly did: 'change';
      readonly path: string;
      readonly subscription?: Subscription;
      readonly enabled?: boolean;
      /** Query of the new target, which tells it from the former targets of the hook. */
      readonly query?: string;
    } & FeedSpan)
  /** Requests all finalized deliveries of a hook again. */
  | { readonly did: 'replay'; readonly path: string }
  /** A user becomes an admin, or stops being one (X11). */
  | ({ readonly did: 'role'; readonly userId: string; readonly isAdmin: boolean } & FeedSpan)
  /** `withUser`: the hook ends because its user was deleted. */
  | { readonly did: 'unsubscribe'; readonly path: string; readonly withUser?: true }
  /** A requested test of a hook. `deliveryId` is known if there was a response. */
  | { readonly did: 'test'; readonly path: string; readonly deliveryId?: string }
  /** Requests a redelivery of an earlier delivery. */
  | { readonly did: 'redeliver'; readonly deliveryId: string }
);

/** The subscription of a hook (X11): kinds, separated by commas, or `*`; without a scope, its scope is `own`. */
export type Subscription = {
  readonly kind: string;
  readonly scope?: 'own' | 'project' | 'account';
  readonly projectId?: string;
};

/**
 * The position of the feed when a change was requested, and when its response arrived: occurrences up to the first
 * came before the change, and occurrences behind the second after it.
 */
export type FeedSpan = { readonly positionBefore?: number; readonly positionAfter?: number };

/** One notification, as the receiver recorded it. */
export type Arrival = {
  /** The hook, identified by the path of its target. */
  readonly path: string;
  readonly deliveryId: string;
  readonly body: string;
  /** The headers that describe the occurrence (X11); undefined if the receiver records none. */
  readonly about?: { readonly cursor: string; readonly kind: string; readonly fields: string };
  /** Query of the target. */
  readonly query?: string;
  /** Time at which the connection was accepted. */
  readonly at: number;
  /** Start of the attempt, if known. It is before `at`. */
  readonly began?: number;
  readonly answeredAt: number | undefined;
  /** Time at which the sender knew the response, if known. */
  readonly resultKnownAt?: number;
  /** Status of the response; undefined for none. */
  readonly answer: number | undefined;
  /** The sending process was paused for so long that a missing response is no failure (C19). */
  readonly isExcused?: true;
  /** `Retry-After` of the response. */
  readonly retryAfterMs?: number;
  /** Status of a GET of the record that the receiver sent before it answered; undefined if it sent none. */
  readonly fetched?: number;
};

/** Content of the database at the end of the run. */
export type DatabaseContent = {
  /** The word of each record, by its address. */
  readonly records: ReadonlyMap<string, string>;
  readonly occurrences: readonly {
    readonly kind: string;
    readonly userId: string;
    readonly record: string;
    /** Its place in the feed; undefined if the run does not compare notifications with the feed. */
    readonly place?: FeedPlace;
  }[];
  /** Addresses of records that no client creates. */
  readonly otherRecords?: ReadonlySet<string>;
  readonly hooks: readonly StoredHook[];
  /** Pending deliveries of live hooks. */
  readonly pending: number;
};

/** The fields of a feed entry besides kind, user and record. */
export type FeedPlace = {
  readonly domain: string;
  readonly position: number;
  readonly projectId: string;
  readonly previousProjectId: string;
  /** Names of the changed fields, separated by commas. */
  readonly fields: string;
};

export type StoredHook = {
  readonly path: string;
  readonly userId: string;
  readonly kind: string;
  readonly scope?: string;
  readonly projectId?: string;
  readonly domain?: string;
  /** Reason for the end of the hook; null for a live hook. */
  readonly endedReason: string | null;
  /** Address of the hook itself, which a test notification names. */
  readonly address?: string;
};

/** The end of a delivering process, and what its database held then. */
export type Crash = {
  readonly at: number;
  /** Time of the kill, if known. At the later time `at`, nothing that the process sent is in flight any more. */
  readonly killedAt?: number;
  /** Ids of the pending deliveries. */
  readonly pending: ReadonlySet<string>;
  /** Status of each hook, by the path of its target. */
  readonly fates: ReadonlyMap<string, HookStatus>;
};

/**
 * A pause of a delivering process that is longer than an attempt may take. The process stops between `from`
 * and `stoppedAt` and continues at `to`.
 */
export type Pause = { readonly from: number; readonly stoppedAt: number; readonly to: number };

/**
 * Returns the address of the record that a notification names, or an empty string if the body has any other form
 * (C15).
 */
export const recordOfBody = (body: string): string => /^\{"resource_url":"([^"\\]+)"\}$/.exec(body)?.[1] ?? '';

type HookCall = Extract<
  ClientCall,
  { did: 'subscribe' | 'unsubscribe' | 'restore' | 'change' | 'replay' | 'test' | 'redeliver' }
>;

/** Indexes of lists of calls. A linear search for each notification would slow down the run under test. */
const callIndexes = new WeakMap<readonly ClientCall[], ReadonlyMap<string, readonly HookCall[]>>();

/**
 * Returns the calls of one type for one hook, by the path of its target. Redeliveries are found by the id of the
 * delivery.
 */
export function callsAbout<Did extends HookCall['did']>(calls: readonly ClientCall[], did: Did, subject: string) {
  const index = callIndexes.get(calls) ?? Map.groupBy(calls.filter(isHookCall), indexKeyOf);
  callIndexes.set(calls, index);
  return (index.get(`${did} ${subject}`) ?? []) as readonly Extract<HookCall, { did: Did }>[];
}

const isHookCall = (call: ClientCall): call is HookCall => 'path' in call || call.did === 'redeliver';
const indexKeyOf = (call: HookCall): string => `${call.did} ${'path' in call ? call.path : call.deliveryId}`;

export type OccurrenceCall = Extract<ClientCall, { did: 'occur' }>;
export type Occurrence = DatabaseContent['occurrences'][number];

/** Whether a user was requested to stop being an admin. */
export const isRoleLoss = (call: ClientCall, userId: string): boolean =>
  call.did === 'role' && call.userId === userId && !call.isAdmin;

export const occurrenceCalls = (calls: readonly ClientCall[]) =>
  calls.filter((call): call is OccurrenceCall => call.did === 'occur');

/** Whether an occurrence of this kind is a deletion. */
export const isDeletionKind = (kind: string): boolean => kind.startsWith('deleted_');

/** Returns the addresses of the records whose deletion was requested. */
export function requestedDeletions(calls: readonly ClientCall[]): ReadonlySet<string> {
  return new Set(calls.flatMap((call) => (call.did === 'delete' ? [call.record] : [])));
}

/**
 * Returns a function that finds the call that caused an occurrence: by its record, or by its word if the response
 * was lost. A subtask that was completed with its task is caused by the completion of the task.
 */
export function createCauseFinder({
  calls,
  database,
}: Pick<History, 'calls' | 'database'>): (what: Occurrence) => OccurrenceCall | undefined {
  const all = occurrenceCalls(calls);
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

/** Returns the end of an attempt, as far as the receiver knows it. */
export const attemptEndOf = ({ at, answeredAt }: Arrival): number => answeredAt ?? at;

/** Returns the latest end of work that takes `takesMs` from `since` on, and makes no progress during pauses. */
function latestEndWithPauses({ pauses = [] }: Pick<History, 'pauses'>, since: number, takesMs: number): number {
  return pauses.reduce((by, { from, to }) => (from <= by && to >= since ? to + takesMs : by), since + takesMs);
}

/** Returns the latest time at which the sending process knew the result of an attempt. */
export const latestKnownAt = (history: Pick<History, 'maxResultDelayMs' | 'pauses'>, one: Arrival): number =>
  one.resultKnownAt ?? latestEndWithPauses(history, attemptEndOf(one), history.maxResultDelayMs ?? 0);

/**
 * Returns the latest time at which the result of an attempt is committed. A process that dies earlier may lose the
 * result.
 */
export function latestCommitOf(history: Pick<History, 'settlesWithinMs' | 'pauses'>, one: Arrival): number {
  const { settlesWithinMs = 0 } = history;
  const end = attemptEndOf(one);
  return latestEndWithPauses(
    history,
    end,
    typeof settlesWithinMs === 'number' ? settlesWithinMs : settlesWithinMs(end),
  );
}

/**
 * Whether a missing response is no failure, because the sending process was paused (C19). True if the attempt was
 * in flight when the process stopped; `perhaps` if the attempt started or ended around that time.
 */
export function isExcused(history: History, one: Arrival): boolean | 'perhaps' {
  if (one.answer !== undefined) return false;
  if (one.isExcused) return true;
  const { pauses = [], maxResultDelayMs = 0 } = history;
  if (pauses.some(({ from, stoppedAt }) => one.at <= from && attemptEndOf(one) >= stoppedAt)) return true;
  const isNear = ({ from, to }: Pause) => one.at <= to + maxResultDelayMs && latestKnownAt(history, one) >= from;
  return pauses.some(isNear) && 'perhaps';
}

/** Whether an attempt timed out after a pause before the receiver had answered. */
export const hasTimedOutAfterPause = (pauses: readonly Pause[], one: Arrival): boolean =>
  pauses.some(({ to }) => one.at <= to && attemptEndOf(one) >= to);

/**
 * Whether a process died so soon after an attempt that the result may not be committed. A crash is noticed later
 * than it happens, for example if the database server has to restart first; `killedAt` is exact.
 */
export const mayHaveLostResult = (
  history: Pick<History, 'settlesWithinMs' | 'pauses'>,
  crash: Crash,
  one: Arrival,
): boolean => (crash.killedAt ?? crash.at) <= latestCommitOf(history, one);

/** Whether a notification belongs to a requested test. Such a notification names the hook itself as its record (X1). */
export function isTestNotification({ calls, database }: History, { path, body, at: moment }: Arrival): boolean {
  const record = recordOfBody(body);
  const isOwn = record !== '' && database.hooks.some((hook) => hook.path === path && hook.address === record);
  return isOwn && callsAbout(calls, 'test', path).some(({ askedAt }) => askedAt <= moment);
}

/**
 * Replays the history of each hook against the state table: the attempts that its receiver saw, and the requests
 * of clients. Returns the violations.
 */
export function findStateTableViolations(history: History): string[] {
  const arrivals = Map.groupBy(history.arrivals, ({ path }) => path);
  return history.database.hooks.flatMap((hook) => {
    const retargets = callsAbout(history.calls, 'change', hook.path)
      .filter(({ query }) => query !== undefined)
      .toSorted((a, b) => a.askedAt - b.askedAt);
    // After a change without a response, the target is unknown.
    const lost = retargets.findIndex(({ answeredAt }) => answeredAt === undefined);
    const certain = lost < 0 ? retargets : retargets.slice(0, lost);
    // The state begins anew with each target (X13).
    return [undefined, ...certain].flatMap((retarget, index) => {
      return replayHook(history, hook, arrivals.get(hook.path) ?? [], {
        query: retarget?.query ?? '',
        from: retarget?.askedAt ?? Number.NEGATIVE_INFINITY,
        until: retargets[index]?.askedAt ?? Number.POSITIVE_INFINITY,
      });
    });
  });
}

/** Whether a hook may have had the scope that only admins may use. */
const mayNeedRole = (calls: readonly ClientCall[], { path, scope }: StoredHook): boolean =>
  scope === 'account' ||
  callsAbout(calls, 'subscribe', path).some((call) => call.scope === 'account') ||
  callsAbout(calls, 'change', path).some((call) => call.subscription?.scope === 'account');

/** Time in which a hook has one target, from the request for it until the request for the next one. */
type TargetTime = { readonly query: string; readonly from: number; readonly until: number };

function replayHook(
  history: History,
  hook: StoredHook,
  arrivals: readonly Arrival[],
  { query: ownQuery, from, until }: TargetTime,
): string[] {
  const { calls, crashes, waitsMs = [], maxResultDelayMs = 0, toWallTime = (at) => at } = history;
  const { path, userId, endedReason } = hook;
  const checker = new DeliveryChecker({ waitsMs, toWallTime, isExact: maxResultDelayMs === 0 });
  const ends = [
    ...callsAbout(calls, 'unsubscribe', path),
    ...(mayNeedRole(calls, hook) ? calls.filter((call) => isRoleLoss(call, userId)) : []),
  ].filter(({ answeredAt = Number.POSITIVE_INFINITY }) => answeredAt >= from);
  const events = [
    ...crashes.flatMap(({ at, fates }) => {
      const status = fates.get(path);
      return status === undefined ? [] : [{ at, run: () => checker.onCrashed(at, status) }];
    }),
    ...ends.map(({ askedAt }) => ({ at: Math.max(askedAt, from), run: () => checker.onDeletionRequested() })),
    ...callsAbout(calls, 'restore', path).map(({ askedAt: at, answeredAt }) => ({
      at,
      run: () => checker.onRestored(answeredAt !== undefined),
    })),
  ];
  const steps = [
    ...arrivals.flatMap((one) => {
      const attempt = toAttempt(history, one);
      const finished = { at: attempt.knownFrom, run: () => checker.onFinished(attempt) };
      // An attempt to another target changes nothing, but its delivery is not retried after a 200.
      if ((one.query ?? '') !== ownQuery) return one.answer === 200 ? [finished] : [];
      return [{ at: attempt.startedAt, run: () => checker.onStarted(attempt) }, finished];
    }),
    ...events.filter(({ at }) => at >= from && at < until),
    ...(until === Number.POSITIVE_INFINITY ? [] : [{ at: until, run: () => checker.onDeletionRequested() }]),
  ];
  for (const { run } of steps.sort((a, b) => a.at - b.at)) run();
  if (until === Number.POSITIVE_INFINITY) checker.checkEnd(endedReason);
  return checker.faults.map((fault) => `${path} ${fault}`);
}

function toAttempt(history: History, one: Arrival): Attempt {
  const { calmFrom = Number.POSITIVE_INFINITY } = history;
  const { deliveryId, answer, retryAfterMs } = one;
  const manual = manualOf(history, one);
  return {
    ...{ deliveryId, answer, retryAfterMs, manual },
    startedAt: attemptStartOf(one),
    knownFrom: one.resultKnownAt ?? attemptEndOf(one),
    knownBy: latestKnownAt(history, one),
    effect: effectOf(history, one, manual),
    isRetryPunctual: attemptEndOf(one) >= calmFrom,
  };
}

const attemptStartOf = ({ began, at }: Arrival): number => began ?? at;

/** Whether a client requested this attempt (X1, X3). */
function manualOf(history: History, one: Arrival): Attempt['manual'] {
  if (isTestNotification(history, one)) return 'yes';
  const restores = callsAbout(history.calls, 'restore', one.path).map(({ askedAt }) => askedAt);
  const restoredAt = Math.max(Number.NEGATIVE_INFINITY, ...restores.filter((askedAt) => askedAt < attemptStartOf(one)));
  // A redelivery that was answered before the hook was restored had ended with the hook.
  const isRequested = callsAbout(history.calls, 'redeliver', one.deliveryId).some(
    ({ askedAt, answeredAt = Number.POSITIVE_INFINITY }) => askedAt <= one.at && answeredAt > restoredAt,
  );
  const replayed = replayOf(history, one);
  if (!isRequested && replayed === 'no') return 'no';
  if (!isRequested && replayed === 'perhaps') return 'perhaps';
  // A restore makes undelivered deliveries pending again, so this may be a scheduled attempt.
  return restoredAt > Number.NEGATIVE_INFINITY ? 'perhaps' : 'yes';
}

/** Whether the result 200 of an attempt was certainly committed at a time. */
export const isDelivered = (history: History, one: Arrival, at: number): boolean =>
  one.answer === 200 &&
  latestCommitOf(history, one) <= at &&
  !callsAbout(history.calls, 'change', one.path).some(
    ({ query, askedAt, answeredAt = Number.POSITIVE_INFINITY }) =>
      query !== undefined && one.at <= answeredAt && askedAt <= latestCommitOf(history, one),
  ) &&
  !history.crashes.some((crash) => crash.at >= one.at && crash.pending.has(one.deliveryId));

/** Whether an attempt is part of a replay (X13): the delivery was delivered before, and perhaps before the replay. */
function replayOf(history: History, one: Arrival): Attempt['manual'] {
  const replays = callsAbout(history.calls, 'replay', one.path).filter(({ askedAt }) => askedAt <= one.at);
  if (replays.length === 0) return 'no';
  const earlier = history.arrivals.filter(
    (other) => other.path === one.path && other.deliveryId === one.deliveryId && other.answer === 200,
  );
  if (earlier.some((other) => replays.some(({ askedAt }) => isDelivered(history, other, askedAt)))) return 'yes';
  const isAfter = (other: Arrival, { answeredAt = Number.POSITIVE_INFINITY }: HookCall) => other.at <= answeredAt;
  return earlier.some((other) => other !== one && replays.some((call) => isAfter(other, call))) ? 'perhaps' : 'no';
}

function effectOf(history: History, one: Arrival, manual: Attempt['manual']): Attempt['effect'] {
  const { crashes } = history;
  const excused = isExcused(history, one);
  if (excused === true) return 'none';
  // After a crash, a redelivery looks the same as a scheduled attempt of a pending delivery; a test is never scheduled.
  const mayBePending = crashes.some(({ at, pending }) => at <= one.at && pending.has(one.deliveryId));
  if (manual !== 'no' && mayBePending && !isTestNotification(history, one)) return 'unknown';
  const isLost = crashes.some(
    (crash) => crash.fates.has(one.path) && attemptEndOf(one) <= crash.at && mayHaveLostResult(history, crash, one),
  );
  return isLost || excused === 'perhaps' ? 'possible' : 'certain';
}
