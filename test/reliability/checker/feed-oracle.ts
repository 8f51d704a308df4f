import {
  type Arrival,
  type ClientCall,
  callsAbout,
  type FeedSpan,
  type History,
  isTestNotification,
  type Occurrence,
  recordOfBody,
  type StoredHook,
  type Subscription,
} from './history.ts';

/**
 * The feed as an oracle (X2, X11, X13): a hook must receive exactly the entries of the feed that it reported when they
 * occurred. This is written from the contract and uses no code of the service.
 */

/** An entry of the feed, with its place. */
type FeedEntry = Occurrence & Required<Pick<Occurrence, 'place'>>;

const hasPlace = (occurrence: Occurrence): occurrence is FeedEntry => occurrence.place !== undefined;

/** Whether the run compares notifications with the feed. */
export const hasFeed = ({ database }: Pick<History, 'database'>): boolean => database.occurrences.some(hasPlace);

/** The subscription of a hook at one position of the feed; undefined before the hook exists. */
type Phase =
  | (Subscription & {
      /** Whether its user has lost the role that the scope needs. */
      readonly isSilenced: boolean;
    })
  | undefined;

/** A change of what a hook reports, somewhere behind `after` and not behind `by`. */
type PhaseChange = { readonly after: number; readonly by: number; readonly apply: (phase: Phase) => Phase };

/** Whether a hook of a user reports an entry. */
function reports(phase: Phase, userId: string, { kind, userId: actor, place }: FeedEntry): boolean {
  if (phase === undefined || phase.isSilenced) return false;
  if (phase.kind !== '*' && !phase.kind.split(',').includes(kind)) return false;
  if (phase.scope === 'account') return true;
  if (phase.scope !== 'project') return actor === userId;
  return phase.projectId === place.projectId || phase.projectId === place.previousProjectId;
}

const spanOf = ({ positionBefore = 0, positionAfter }: FeedSpan): Pick<PhaseChange, 'after' | 'by'> => ({
  after: positionBefore,
  by: positionAfter ?? Number.POSITIVE_INFINITY,
});

/** Returns the changes of what a hook reports, in order. */
function phaseChanges({ calls, arrivals }: History, { path, userId }: StoredHook): PhaseChange[] {
  const changes: PhaseChange[] = [];
  /** Position of the feed at which the hook was certainly live. */
  let liveSince = 0;
  let liveSinceTime = Number.NEGATIVE_INFINITY;
  const mayHaveEnded = (at: number) =>
    callsAbout(calls, 'unsubscribe', path).some(({ askedAt }) => askedAt > liveSinceTime && askedAt < at) ||
    arrivals.some((one) => one.path === path && one.answer !== 200 && one.at > liveSinceTime && one.at < at);
  const isRelevant = (call: ClientCall) => ('path' in call ? call.path === path : call.did === 'role');
  for (const call of calls.filter(isRelevant).toSorted((a, b) => a.askedAt - b.askedAt)) {
    if (call.did === 'subscribe') {
      const { kind, scope = 'own', projectId = '0' } = call;
      changes.push({ ...spanOf(call), apply: () => ({ kind, scope, projectId, isSilenced: false }) });
    } else if (call.did === 'change' && call.subscription !== undefined) {
      const { subscription } = call;
      changes.push({ ...spanOf(call), apply: (phase) => phase && { ...phase, ...subscription } });
    } else if (call.did === 'restore') {
      changes.push({ ...spanOf(call), apply: (phase) => phase && { ...phase, isSilenced: false } });
    } else if (call.did === 'role' && call.userId === userId && !call.isAdmin) {
      const { after, by } = spanOf(call);
      // A hook that had ended before does not report what it missed, either.
      const silencedAfter = mayHaveEnded(call.answeredAt ?? Number.POSITIVE_INFINITY) ? liveSince : after;
      const apply = (phase: Phase) => phase && { ...phase, isSilenced: phase.isSilenced || phase.scope === 'account' };
      changes.push({ after: silencedAfter, by, apply });
    }
    const isAnsweredStart = (call.did === 'subscribe' || call.did === 'restore') && call.answeredAt !== undefined;
    if (!isAnsweredStart) continue;
    liveSince = call.positionBefore ?? 0;
    liveSinceTime = call.askedAt;
  }
  return changes;
}

/** Returns what a hook may report at a position: more than one phase if the order of a change is unknown. */
function possiblePhases(changes: readonly PhaseChange[], position: number): readonly Phase[] {
  let phases: readonly Phase[] = [undefined];
  for (const { after, by, apply } of changes) {
    if (position <= after) continue;
    const changed = phases.map(apply);
    phases = position > by ? changed : [...phases, ...changed];
  }
  return phases;
}

const describeEntry = ({ kind, record, place }: FeedEntry): string => `${place.position} ${kind} ${record}`;

/** The headers that a notification of an entry has: kind and changed fields. */
const headersOf = ({ kind, place }: FeedEntry): string => `${kind} ${kind.startsWith('changed_') ? place.fields : '-'}`;

/**
 * Compares every notification with the feed, and the feed with the notifications: each hook received the entries that
 * it reported, with their record, kind and changed fields, and nothing else. A hook that is live at the end has received
 * all of them.
 */
export function findFeedDifferences(history: History): string[] {
  const { arrivals, database } = history;
  const feeds = Map.groupBy(database.occurrences.filter(hasPlace), ({ place }) => place.domain);
  const arrivalsByPath = Map.groupBy(arrivals, ({ path }) => path);
  return database.hooks.flatMap((hook) => {
    const feed = feeds.get(hook.domain ?? '') ?? [];
    const received = (arrivalsByPath.get(hook.path) ?? []).filter((one) => !isTestNotification(history, one));
    return hasFeed(history) ? compareWithFeed(history, hook, feed, received) : [];
  });
}

function compareWithFeed(
  history: History,
  hook: StoredHook,
  feed: readonly FeedEntry[],
  received: readonly Arrival[],
): string[] {
  const { path, userId, endedReason } = hook;
  const changes = phaseChanges(history, hook);
  const entries = new Map(feed.map((entry) => [String(entry.place.position), entry]));
  const found: string[] = [];
  for (const { about, body } of received) {
    const entry = entries.get(about?.cursor ?? '');
    if (entry === undefined || entry.record !== recordOfBody(body)) {
      found.push(`${path} received ${about?.cursor} ${about?.kind} ${body}, which is not in the feed`);
      continue;
    }
    if (headersOf(entry) !== `${about?.kind} ${about?.fields}`)
      found.push(`${path} received ${describeEntry(entry)} as ${about?.kind} with the fields ${about?.fields}`);
    const phases = possiblePhases(changes, entry.place.position);
    if (!phases.some((phase) => reports(phase, userId, entry)))
      found.push(`${path} received ${describeEntry(entry)}, which it does not report`);
  }
  if (endedReason !== null) return found;
  const delivered = new Set(received.filter(({ answer }) => answer === 200).map(({ about }) => about?.cursor));
  for (const [cursor, entry] of entries) {
    const phases = possiblePhases(changes, entry.place.position);
    if (phases.every((phase) => reports(phase, userId, entry)) && !delivered.has(cursor))
      found.push(`${path} has not received ${describeEntry(entry)}`);
  }
  return found;
}

/** Finds notifications that began while their hook was disabled, or that went to a former target (X13). */
export function findIgnoredSettings({ calls, arrivals }: History): string[] {
  return arrivals.flatMap(({ path, at, query = '' }) => {
    const changes = callsAbout(calls, 'change', path).toSorted((a, b) => a.askedAt - b.askedAt);
    const isDone = ({ answeredAt = Number.POSITIVE_INFINITY }: ClientCall) => answeredAt < at;
    const lastSwitch = changes.filter(({ enabled, askedAt }) => enabled !== undefined && askedAt < at).at(-1);
    const retargeted = changes.filter((call) => call.query !== undefined && isDone(call)).at(-1);
    const queries = changes.filter((call) => call.query !== undefined && !isDone(call)).map((call) => call.query);
    const isFormer = retargeted !== undefined && query !== retargeted.query && !queries.includes(query);
    return [
      ...(lastSwitch?.enabled === false && isDone(lastSwitch) ? [`${path} at ${at}, while it was disabled`] : []),
      ...(isFormer ? [`${path}${query} at ${at}, its former target`] : []),
    ];
  });
}
