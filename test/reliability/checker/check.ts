import { isHookKind, resourceTypeOf, resourceTypes } from '../../../src/delivery/outbox/event-kinds.ts';
import { findFeedDifferences, findIgnoredSettings, hasFeed } from './feed-oracle.ts';
import {
  type Arrival,
  attemptEndOf,
  callsAbout,
  createCauseFinder,
  findStateTableViolations,
  type History,
  hasTimedOutAfterPause,
  isDeletionKind,
  isDelivered,
  isExcused,
  isRoleLoss,
  isTestNotification,
  latestCommitOf,
  mayHaveLostResult,
  type OccurrenceCall,
  occurrenceCalls,
  recordOfBody,
  requestedDeletions,
  type StoredHook,
  type Subscription,
} from './history.ts';

/** A violation of a promise of the service, with the clause that it breaks. */
export type Violation = { readonly clause: string; readonly what: keyof typeof rules; readonly detail: string };

/**
 * Invariants that hold in every run of the service, whatever fails. Each has its clause, and a function that finds
 * the violations in a history.
 */
const rules = {
  'acknowledged and lost': ['C20', findLostRecords],
  'without a request': ['C20', findUnrequested],
  'hook differs from its requests': ['C12', findHookDifferences],
  'pending and not delivered': ['C20', findUndelivered],
  'still pending at the end': ['C20', findLeftPending],
  'delivered without a record': ['C16', findPhantomDeliveries],
  'delivered before it could be fetched': ['C16', findUnfetchable],
  'delivered to the wrong hook': ['C14', findMisdirected],
  'malformed notification': ['C15', findMalformed],
  'unexplained duplicate': ['C20', findUnexplainedDuplicates],
  'requested and not delivered': ['X3', findIgnoredRequests],
  'delivered after the end of the hook': ['C13', findDeliveriesAfterEnd],
  'differs from the feed': ['X11', findFeedDifferences],
  'delivered against the settings': ['X13', findIgnoredSettings],
  'hook state differs from the state table': ['C17', findStateTableViolations],
} as const;

/** Checks a history against all rules. An empty result means that every promise was kept. */
export function check(history: History): readonly Violation[] {
  return (Object.keys(rules) as (keyof typeof rules)[]).flatMap((what) => {
    const [clause, find] = rules[what];
    return find(history).map((detail): Violation => ({ clause, what, detail }));
  });
}

/** Counts the violations of each rule. A rule without a violation has the count 0. */
export function countViolations(faults: readonly Violation[]): Record<string, number> {
  return Object.fromEntries(Object.keys(rules).map((what) => [what, faults.filter((one) => one.what === what).length]));
}

export const formatViolation = ({ clause, what, detail }: Violation): string => `${clause} ${what}: ${detail}`;

/**
 * Finds acknowledged records that neither exist nor were deleted later, and acknowledged deletions without an
 * effect or without an occurrence (C20). If two clients were given the same id, the first record was lost and its
 * id was issued again.
 */
function findLostRecords({ calls, database }: History): string[] {
  const deleted = requestedDeletions(calls);
  const recorded = new Set(database.occurrences.map(({ kind, record }) => `${kind} ${record}`));
  const acknowledgedDeletions = calls.flatMap((call) =>
    call.did === 'delete' && call.answeredAt !== undefined ? [call.record] : [],
  );
  const deletedRecords = new Set(
    database.occurrences.filter(({ kind }) => isDeletionKind(kind)).map(({ record }) => record),
  );
  const acknowledged = occurrenceCalls(calls).filter((one) => one.answeredAt !== undefined && one.record !== undefined);
  const createdRecords = acknowledged.filter(({ kind }) => kind.startsWith('new_')).map(({ record = '' }) => record);
  const issuedTwice = [...Map.groupBy(createdRecords, (record) => record)].flatMap(([, all]) => all.slice(1));
  const missing = acknowledged
    .filter(
      ({ kind, record = '' }) =>
        !recorded.has(`${kind} ${record}`) || !(database.records.has(record) || deleted.has(record)),
    )
    .map(({ kind, record }) => `${kind} ${record}`);
  return [
    ...missing,
    ...issuedTwice.map((record) => `${record}, which was issued twice`),
    ...acknowledgedDeletions
      .filter((record) => database.records.has(record) || !deletedRecords.has(record))
      .map((record) => `the deletion of ${record}`),
  ];
}

/**
 * Finds occurrences that a live hook has not received with a 200, although its user caused them after the
 * subscription was answered.
 */
function findUndelivered(history: History): string[] {
  const { calls, arrivals, database } = history;
  // The comparison with the feed finds them, too.
  if (hasFeed(history)) return [];
  const causeOf = createCauseFinder(history);
  const delivered = new Set(
    arrivals.filter((one) => one.answer === 200).map((one) => `${one.path} ${recordOfBody(one.body)}`),
  );
  return database.hooks
    .filter(({ endedReason }) => endedReason === null)
    .flatMap((hook) => {
      const [{ answeredAt: since = Number.POSITIVE_INFINITY } = {}] = callsAbout(calls, 'subscribe', hook.path);
      return database.occurrences
        .filter(({ kind, userId }) => kind === hook.kind && userId === hook.userId)
        .filter((occurrence) => (causeOf(occurrence)?.askedAt ?? -1) >= since)
        .filter(({ record }) => !delivered.has(`${hook.path} ${record}`))
        .map(({ record }) => `${hook.path} ${record}`);
    });
}

function findLeftPending({ database }: History): string[] {
  return database.pending === 0 ? [] : [`${database.pending} deliveries`];
}

function findPhantomDeliveries({ calls, arrivals, database }: History): string[] {
  const deleted = requestedDeletions(calls);
  const hooks = new Set(database.hooks.map(({ address }) => address));
  const known = [database.records, deleted, hooks, database.otherRecords ?? new Set()];
  const exists = (record: string) => known.some((records) => records.has(record));
  return arrivals.filter(({ body }) => !exists(recordOfBody(body))).map(({ path, body }) => `${path} ${body}`);
}

function findUnfetchable({ calls, arrivals }: History): string[] {
  const deleted = requestedDeletions(calls);
  return arrivals
    .filter(({ fetched = 200, body }) => fetched !== 200 && !(fetched === 404 && deleted.has(recordOfBody(body))))
    .map(({ path, body, fetched }) => `${path} ${body}: ${fetched}`);
}

/**
 * Finds occurrences of a wrong user, and notifications to a wrong hook (C14). An occurrence belongs to the user
 * who caused it. A notification must have the kind and the user of its hook, and its occurrence must not have been
 * acknowledged before the subscription was requested.
 */
function findMisdirected(history: History): string[] {
  const { calls, arrivals, database } = history;
  const causeOf = createCauseFinder(history);
  const occurrenceByKey = new Map(database.occurrences.map((one) => [`${one.kind} ${one.record}`, one]));
  const hooks = new Map(database.hooks.map((hook) => [hook.path, hook]));
  const addresses = new Set(database.hooks.map(({ address }) => address));
  const wrongUser = database.occurrences
    .filter((fact) => (causeOf(fact)?.userId ?? fact.userId) !== fact.userId)
    .map(({ kind, record, userId }) => `${kind} ${record} is of ${userId}`);
  if (hasFeed(history)) return wrongUser;
  const wrongHook = arrivals
    .filter((one) => {
      const { path, body } = one;
      const hook = hooks.get(path);
      const fact = occurrenceByKey.get(`${hook?.kind} ${recordOfBody(body)}`);
      if (isTestNotification(history, one)) return false;
      // A notification without any record breaks another rule, `delivered without a record`.
      if (fact === undefined) return database.records.has(recordOfBody(body)) || addresses.has(recordOfBody(body));
      const [{ askedAt: since = Number.POSITIVE_INFINITY } = {}] = callsAbout(calls, 'subscribe', path);
      const { answeredAt = Number.POSITIVE_INFINITY } = causeOf(fact) ?? {};
      return fact.userId !== hook?.userId || answeredAt < since;
    })
    .map(({ path, body }) => `${path} ${body}`);
  return [...wrongUser, ...wrongHook];
}

function findMalformed({ arrivals }: History): string[] {
  return arrivals
    .filter(({ body, deliveryId }) => recordOfBody(body) === '' || !/^\d+$/.test(deliveryId))
    .map(({ path, deliveryId, body }) => `${path} ${deliveryId} ${body}`);
}

/**
 * Finds deliveries that were sent again after a 200, or while an attempt was in flight, without a valid reason
 * (C20). A valid reason is a crash that left the delivery pending before its result was committed, a pause that
 * outlasted the attempt, a requested redelivery (X3), or a restore of the hook (X1). A failed test must not be
 * retried either.
 */
function findUnexplainedDuplicates(history: History): string[] {
  const { calls, arrivals, crashes, pauses = [] } = history;
  const isBetween = (earlier: Arrival, moment: number, later: Arrival) => earlier.at <= moment && moment <= later.at;
  // An occurrence is one delivery for each hook, however often it is sent.
  const found = [
    ...Map.groupBy(
      arrivals.filter((one) => !isTestNotification(history, one)),
      (one) => `${one.path} ${one.about?.cursor ?? one.body}`,
    ),
  ]
    .filter(([, all]) => new Set(all.map(({ deliveryId }) => deliveryId)).size > 1)
    .map(([what, all]) => `${what} as ${[...new Set(all.map(({ deliveryId }) => deliveryId))].join(' and ')}`);
  for (const same of Map.groupBy(arrivals, (one) => `${one.path} ${one.deliveryId}`).values()) {
    const inOrder = same.toSorted((a, b) => a.at - b.at);
    const [first] = inOrder;
    const requestTimes = [
      ...callsAbout(calls, 'redeliver', first?.deliveryId ?? ''),
      ...callsAbout(calls, 'replay', first?.path ?? '').filter(
        ({ answeredAt = Number.POSITIVE_INFINITY }) => answeredAt >= (first?.at ?? 0),
      ),
      // A test whose hook got a new target meanwhile is sent to that target, too.
      ...callsAbout(calls, 'test', first?.path ?? '').filter(
        ({ deliveryId }) => deliveryId === first?.deliveryId && inOrder.some((one) => isCutByRetarget(history, one)),
      ),
    ]
      .map(({ askedAt }) => askedAt)
      .sort((a, b) => a - b);
    for (const [index, later] of inOrder.entries()) {
      const isOver = (one: Arrival) => one.answer === 200 || (one.answeredAt ?? Number.NEGATIVE_INFINITY) > later.at;
      const earlier = inOrder
        .slice(0, index)
        .findLast((one) => isOver(one) || (isTestNotification(history, one) && isExcused(history, one) === false));
      if (earlier === undefined) continue;
      const isLost = crashes.some(
        (crash) =>
          isBetween(earlier, crash.at, later) &&
          mayHaveLostResult(history, crash, earlier) &&
          crash.pending.has(earlier.deliveryId),
      );
      const isRestored = callsAbout(calls, 'restore', later.path).some(
        ({ askedAt }) => isBetween(earlier, askedAt, later) && askedAt <= latestCommitOf(history, earlier),
      );
      const isRetargeted = isCutByRetarget(history, earlier, later.at);
      if (isLost || isRestored || isRetargeted || hasTimedOutAfterPause(pauses, earlier)) continue;
      const request = requestTimes.findIndex((askedAt) => askedAt <= later.at);
      if (request < 0) found.push(describeDuplicate(history, earlier, later));
      // An attempt that was cut off by a crash, a pause or a new target does not use up the request.
      else if (
        !later.isExcused &&
        !isCutByRetarget(history, later) &&
        !crashes.some((crash) => later.at <= crash.at && mayHaveLostResult(history, crash, later))
      )
        requestTimes.splice(request, 1);
    }
  }
  return found;
}

/**
 * Whether the target of the hook was changed before the result of an attempt was committed: such a result changes
 * nothing (X13).
 *
 * @param before the latest time of the change
 */
function isCutByRetarget(history: History, one: Arrival, before = Number.POSITIVE_INFINITY): boolean {
  return callsAbout(history.calls, 'change', one.path).some(
    ({ query, askedAt, answeredAt = Number.POSITIVE_INFINITY }) =>
      query !== undefined && one.at <= answeredAt && askedAt <= before && askedAt <= latestCommitOf(history, one),
  );
}

/** Describes both attempts and the crashes between them, and whether each crash left the delivery pending. */
function describeDuplicate({ crashes }: History, earlier: Arrival, later: Arrival): string {
  const since = crashes.filter(({ at }) => earlier.at <= at && at <= later.at);
  const died = since.map(
    ({ at, pending }) => `${at} ${pending.has(earlier.deliveryId) ? 'left it pending' : 'did not'}`,
  );
  return `${later.path} ${later.deliveryId} at ${later.at}, response ${later.answer}; before from ${earlier.at} to ${earlier.answeredAt}, response ${earlier.answer}; crashes since: ${died.join(', ') || 'nothing'}`;
}

/** Finds requested tests and redeliveries that were not sent although their hook stayed live (X1, X3). */
function findIgnoredRequests(history: History): string[] {
  const { calls, arrivals, database } = history;
  const byDelivery = Map.groupBy(arrivals, ({ deliveryId }) => deliveryId);
  const live = new Set(database.hooks.filter(({ endedReason }) => endedReason === null).map(({ path }) => path));
  const staysLive = (path: string, askedAt: number) =>
    live.has(path) && !callsAbout(calls, 'restore', path).some((call) => call.askedAt >= askedAt);
  return calls
    .flatMap((call) => (call.did === 'redeliver' || call.did === 'test' ? [call] : []))
    .filter(({ answeredAt, askedAt, deliveryId = '', ...call }) => {
      const all = byDelivery.get(deliveryId) ?? [];
      const path = 'path' in call ? call.path : (all[0]?.path ?? '');
      if (answeredAt === undefined || deliveryId === '' || !staysLive(path, askedAt)) return false;
      return !all.some((one) => attemptEndOf(one) >= askedAt);
    })
    .map(({ did, deliveryId, askedAt }) => `${did} ${deliveryId} at ${askedAt}`)
    .concat(findIgnoredReplays(history, staysLive));
}

/** Finds delivered deliveries that a replay has not sent again (X13). */
function findIgnoredReplays(history: History, staysLive: (path: string, askedAt: number) => boolean): string[] {
  const { calls, arrivals } = history;
  const replays = calls.flatMap((call) => (call.did === 'replay' && call.answeredAt !== undefined ? [call] : []));
  return replays
    .filter(({ path, askedAt }) => staysLive(path, askedAt))
    .flatMap(({ path, askedAt }) => {
      const own = arrivals.filter((one) => one.path === path && !isTestNotification(history, one));
      const isRepeated = (id: string) => own.some((one) => one.deliveryId === id && attemptEndOf(one) >= askedAt);
      return own
        .filter((one) => isDelivered(history, one, askedAt) && !isRepeated(one.deliveryId))
        .map(({ deliveryId }) => `${path} ${deliveryId} at ${askedAt}`);
    });
}

/** Finds attempts that started after the response to a DELETE, unless the hook was restored or created again (C13). */
function findDeliveriesAfterEnd({ calls, arrivals }: History): string[] {
  return arrivals
    .filter(({ path, at }) => {
      const ends = callsAbout(calls, 'unsubscribe', path).map(
        ({ answeredAt = Number.POSITIVE_INFINITY }) => answeredAt,
      );
      const ended = Math.max(Number.NEGATIVE_INFINITY, ...ends.filter((end) => end < at));
      const reopenings = [...callsAbout(calls, 'restore', path), ...callsAbout(calls, 'subscribe', path)];
      return ended > Number.NEGATIVE_INFINITY && !reopenings.some(({ askedAt }) => askedAt >= ended && askedAt <= at);
    })
    .map(({ path, at }) => `${path} at ${at}`);
}

/** Whether the history has a call for every occurrence of this kind. Changes of records, for example, have no call. */
const hasRecordedCall = (kind: string): boolean => isHookKind(kind) || isDeletionKind(kind);

/**
 * Finds records and occurrences for which there is not exactly one call that requested them, with the same word
 * (C20).
 */
export function findUnrequested(history: History): string[] {
  const { calls, database } = history;
  const causeOf = createCauseFinder(history);
  const deleted = requestedDeletions(calls);
  const known = database.occurrences.filter(({ kind }) => hasRecordedCall(kind));
  const twice = [...Map.groupBy(known, ({ kind, record }) => `${kind} ${record}`)].filter(([, all]) => all.length > 1);
  return [
    ...findStrayRecords(history),
    ...twice.map(([what]) => `${what} occurred twice`),
    ...known
      .filter((one) => (isDeletionKind(one.kind) ? !deleted.has(one.record) : causeOf(one) === undefined))
      .map(({ kind, record }) => `${kind} ${record} occurred, and nobody requested it`),
  ];
}

function findStrayRecords({ calls, database }: History): string[] {
  const creations = occurrenceCalls(calls).filter(({ kind }) => kind.startsWith('new_'));
  const answered = new Map(creations.map((call) => [call.record, call]));
  const unanswered = Map.groupBy(
    creations.filter(({ record }) => record === undefined),
    ({ word }) => word,
  );
  const found: string[] = [];
  for (const [record, word] of database.records) {
    const call = answered.get(record) ?? unanswered.get(word)?.pop();
    if (call === undefined || !isOfKind(record, call)) found.push(`${record} ${word}, which nobody requested`);
    else if (call.word !== word) found.push(`${record} has the word ${word}, and should have ${call.word}`);
  }
  return found;
}

const isOfKind = (record: string, { kind }: OccurrenceCall): boolean =>
  record.includes(`/v2${resourceTypes[resourceTypeOf(kind)].collection}/`);

/**
 * Finds hooks that differ from their requests (C12). An acknowledged hook must exist with the requested kind and
 * user. It must be live unless the service ended it or a client requested its end; the last acknowledged end or
 * restore applies.
 */
function findHookDifferences({ calls, database }: History): string[] {
  const stored = Map.groupBy(database.hooks, ({ path }) => path);
  const requested = Map.groupBy(
    calls.filter((call) => call.did === 'subscribe'),
    ({ path }) => path,
  );
  const found: string[] = [];
  for (const path of new Set([...stored.keys(), ...requested.keys()])) {
    const hooks = stored.get(path) ?? [];
    const requests = requested.get(path) ?? [];
    const acknowledged = requests.filter(({ answeredAt }) => answeredAt !== undefined).length;
    if (hooks.length > requests.length)
      found.push(`${path} exists ${hooks.length} times, requested ${requests.length}`);
    if (hooks.length < acknowledged) found.push(`${path} exists ${hooks.length} times, acknowledged ${acknowledged}`);
    for (const hook of hooks) {
      if (requests.length > 0 && !isAsRequested(calls, requests, hook)) {
        found.push(`${path} is of ${hook.kind} and of ${hook.userId}`);
      }
      found.push(...findEndDifferences(calls, hook));
    }
  }
  return found;
}

/** Whether a hook has the user and reports what was requested at last; a change without a response may be missing. */
function isAsRequested(
  calls: History['calls'],
  requests: readonly (Subscription & { readonly userId: string })[],
  hook: StoredHook,
): boolean {
  const changes = callsAbout(calls, 'change', hook.path)
    .filter(({ subscription }) => subscription !== undefined)
    .toSorted((a, b) => a.askedAt - b.askedAt);
  const lastCertain = changes.findLastIndex(({ answeredAt }) => answeredAt !== undefined);
  const changed = changes.slice(Math.max(0, lastCertain)).flatMap(({ subscription }) => subscription ?? []);
  const possible: readonly Subscription[] = lastCertain < 0 ? [...requests, ...changed] : changed;
  const fits = ({ kind, scope = 'own', projectId = '0' }: Subscription) =>
    kind === hook.kind && scope === (hook.scope ?? 'own') && projectId === (hook.projectId ?? '0');
  return requests.some(({ userId }) => userId === hook.userId) && possible.some(fits);
}

function findEndDifferences(calls: History['calls'], { path, userId, endedReason }: StoredHook): string[] {
  const ends = callsAbout(calls, 'unsubscribe', path);
  const restores = callsAbout(calls, 'restore', path);
  const never = Number.POSITIVE_INFINITY;
  const restored = restores.filter(({ answeredAt }) => answeredAt !== undefined);
  const lastRestored = Math.max(Number.NEGATIVE_INFINITY, ...restored.map(({ askedAt }) => askedAt));
  // A restore undoes every end that was answered before the restore was requested.
  const isUnexplained = (withUser: boolean) =>
    !ends.some(({ answeredAt = never, ...end }) => (end.withUser === true) === withUser && answeredAt >= lastRestored);
  if (endedReason === 'deleted' && isUnexplained(false)) return [`${path} is deleted, and nobody requested that`];
  if (endedReason === 'user_deleted' && isUnexplained(true))
    return [`${path} is deleted with its user, who still exists`];
  if (endedReason === 'role_lost' && !calls.some((call) => isRoleLoss(call, userId)))
    return [`${path} is ended, and its user has not lost any role`];
  if (endedReason !== null) return [];
  const ended = ends.filter(({ answeredAt }) => answeredAt !== undefined);
  return ended
    .filter(({ askedAt }) => !restores.some(({ answeredAt = never }) => answeredAt >= askedAt))
    .map(({ askedAt }) => `${path} is live, and its end was requested at ${askedAt} and acknowledged`);
}
