import { type Kind, kinds, resourceTypes } from '../../../src/delivery/outbox/event-kinds.ts';
import {
  about,
  causes,
  deletedIn,
  type History,
  isEnd,
  type Occurring,
  occurring,
  type StoredHook,
} from './history.ts';

/**
 * Whether an occurrence of this kind always has a call in the history. Changes, for example, are not recorded
 * there.
 */
const isExplainable = (kind: string): boolean => kinds[kind as Kind].hooks || isEnd(kind);

/** C20: each record and each occurrence has exactly one call that requested it, with the same word. */
export function unexplained(history: History): string[] {
  const { calls, database } = history;
  const causeOf = causes(history);
  const deleted = deletedIn(calls);
  const known = database.occurrences.filter(({ kind }) => isExplainable(kind));
  const twice = [...Map.groupBy(known, ({ kind, record }) => `${kind} ${record}`)].filter(([, all]) => all.length > 1);
  return [
    ...strayRecords(history),
    ...twice.map(([what]) => `${what} occurred twice`),
    ...known
      .filter((one) => (isEnd(one.kind) ? !deleted.has(one.record) : causeOf(one) === undefined))
      .map(({ kind, record }) => `${kind} ${record} occurred, and nobody requested it`),
  ];
}

function strayRecords({ calls, database }: History): string[] {
  const made = occurring(calls).filter(({ kind }) => kind.startsWith('new_'));
  const answered = new Map(made.map((call) => [call.record, call]));
  const unanswered = Map.groupBy(
    made.filter(({ record }) => record === undefined),
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

const isOfKind = (record: string, { kind }: Occurring): boolean =>
  record.includes(`/v2${resourceTypes[kinds[kind].resourceType].collection}/`);

/**
 * C12: an acknowledged hook exists with the requested kind and user. It is live unless the service ended it
 * or a client requested its end; the last acknowledged end or restore applies.
 */
export function hookDifferences({ calls, database }: History): string[] {
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
      if (requests.length > 0 && !requests.some(({ kind, userId }) => kind === hook.kind && userId === hook.userId)) {
        found.push(`${path} is of ${hook.kind} and of ${hook.userId}`);
      }
      found.push(...endDifferences(calls, hook));
    }
  }
  return found;
}

function endDifferences(calls: History['calls'], { path, endedReason }: StoredHook): string[] {
  const ends = about(calls, 'unsubscribe', path);
  const restores = about(calls, 'restore', path);
  const never = Number.POSITIVE_INFINITY;
  const restored = restores.filter(({ answeredAt }) => answeredAt !== undefined);
  const lastRestored = Math.max(Number.NEGATIVE_INFINITY, ...restored.map(({ askedAt }) => askedAt));
  // An end that was answered before the last acknowledged restore was requested is undone by it.
  const isUnexplained = (withUser: boolean) =>
    !ends.some(({ answeredAt = never, ...end }) => (end.withUser === true) === withUser && answeredAt >= lastRestored);
  if (endedReason === 'deleted' && isUnexplained(false)) return [`${path} is deleted, and nobody requested that`];
  if (endedReason === 'user_deleted' && isUnexplained(true))
    return [`${path} is deleted with its user, who still exists`];
  if (endedReason !== null) return [];
  const ended = ends.filter(({ answeredAt }) => answeredAt !== undefined);
  return ended
    .filter(({ askedAt }) => !restores.some(({ answeredAt = never }) => answeredAt >= askedAt))
    .map(({ askedAt }) => `${path} is live, and its end was requested at ${askedAt} and acknowledged`);
}
