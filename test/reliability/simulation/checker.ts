import type { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { localErrorOutcomes } from '../../../src/delivery/dispatcher/retry-policy.ts';
import { buildResourceUrl, type OccurrenceKind, resourceTypes } from '../../../src/delivery/outbox/event-kinds.ts';
import { check, formatViolation } from '../checker/check.ts';
import { type HookStatus, statusOf } from '../checker/delivery-checker.ts';
import type { ClientCall, Crash, DatabaseContent, History } from '../checker/history.ts';
import type { SimulatedClients } from './clients.ts';
import type { SimulatedNetwork } from './network.ts';

/** Final state of a simulated world. */
export type FinalState = {
  readonly clients: SimulatedClients;
  readonly network: SimulatedNetwork;
  readonly stored: StoredState;
  readonly crashes: readonly Crash[];
  /** Backoffs, commit delays and clock changes, for the checker. */
  readonly times: Omit<History, 'calls' | 'arrivals' | 'database' | 'crashes'>;
};

/** Returns the violations in a world. */
export function findViolations(state: FinalState): string[] {
  const { clients, network, stored } = state;
  const made = [...stored.records.values()];
  return [
    ...check(toHistory(state)).map(formatViolation),
    ...stored.violations,
    ...clients.violations,
    ...findFeedDifferences(clients, stored),
    ...findUnexpectedAttempts(state),
    ...network.forbidden.map((one) => `connected to ${one}`),
    ...made.filter((word, index) => made.indexOf(word) !== index).map((word) => `${word} was created twice`),
    ...made.filter((word) => clients.rejectedWords.has(word)).map((word) => `${word} was rejected, and exists`),
  ];
}

/** Name of the counter of hooks that the checker cannot distinguish. Their number should be as low as possible. */
export const EXCLUDED_HOOKS_COUNTER = 'of these, excluded because they share a target';

/** Counts what happened in a world. */
export function countEvents({ clients, network, stored, crashes }: FinalState): Record<string, number> {
  const done = clients.calls.filter(({ answeredAt }) => answeredAt !== undefined);
  const did = (what: (typeof done)[number]['did']) => done.filter((call) => call.did === what).length;
  const ended = (reason: string) => stored.hooks.filter(({ endedReason }) => endedReason === reason).length;
  const completions = done.filter((call) => call.did === 'occur' && call.kind.startsWith('completed'));
  return {
    'changes acknowledged': done.length,
    'of these, completions': completions.length,
    'hooks restored': did('restore'),
    notifications: network.arrivals.length,
    'answered 200': network.arrivals.filter(({ answer }) => answer === 200).length,
    'process exits': crashes.length,
    'of these, with pending deliveries': crashes.filter(({ pending }) => pending.size > 0).length,
    hooks: stored.hooks.length,
    [EXCLUDED_HOOKS_COUNTER]: stored.hooks.filter(sharedTargetPredicate(stored)).length,
    'removed at the third failure': ended('three_failures'),
    'removed at a 401': ended('answered_401'),
    deleted: ended('deleted'),
    'ended with the user': ended('user_deleted'),
    'ended with the role': ended('role_lost'),
    'hooks changed': did('change'),
    replays: did('replay'),
  };
}

/** Returns a predicate for paths of targets that were used by several hooks. */
function sharedTargetPredicate({ hooks }: StoredState): (one: { readonly path: string }) => boolean {
  const known = new Set<string>();
  const taken = new Set<string>();
  for (const { path } of hooks) (known.has(path) ? taken : known).add(path);
  return ({ path }) => taken.has(path);
}

/**
 * Returns the history of a world. If two hooks used one target, one after the other, an arrival cannot be assigned
 * to either hook, so both hooks are left out.
 */
function toHistory({ clients, network, stored, crashes, times }: FinalState): History {
  const isShared = sharedTargetPredicate(stored);
  const isUnambiguous = (call: ClientCall) => !('path' in call && isShared(call));
  return {
    ...times,
    calls: clients.calls.filter(isUnambiguous),
    arrivals: network.arrivals.filter((one) => !isShared(one)),
    database: { ...stored, hooks: stored.hooks.filter((hook) => !isShared(hook)) },
    crashes,
  };
}

/** Compares the feed that clients have read, across crashes, with the stored feed, in order (X2). */
function findFeedDifferences({ readFeeds }: SimulatedClients, { feeds }: StoredState): string[] {
  return [...readFeeds].flatMap(([domain, seen]) => {
    const all = feeds.get(domain) ?? [];
    const differs = seen.findIndex((one, index) => !isDeepStrictEqual(one, all[index]));
    return differs < 0
      ? []
      : [`${domain} read ${JSON.stringify(seen[differs])} at position ${differs + 1} of its feed`];
  });
}

/** Finds stored attempts that were not made, or are stored twice (X3). */
function findUnexpectedAttempts({ network, stored }: FinalState): string[] {
  const made = Map.groupBy(network.arrivals, ({ deliveryId }) => deliveryId);
  return [...stored.attempts].flatMap(([id, count]) => {
    const received = made.get(id)?.length ?? 0;
    return count <= received ? [] : [`X3 delivery ${id} has ${count} stored attempts, and ${received} were made`];
  });
}

type SqlRow = Record<string, string | number | null>;

const queryRows = (database: DatabaseSync, sql: string): SqlRow[] => database.prepare(sql).all() as SqlRow[];
const targetPath = (target: unknown) => new URL(String(target)).pathname;

const countUndelivered = (
  pendingTo: string,
) => `select (select count(*) from pending_deliveries join hooks using (hook_id) where ${pendingTo})
  + (select count(*) from manual_attempts join hooks using (hook_id) where date_ended is null) as pending`;

/** Counts what live hooks still have to receive: pending deliveries and manual attempts. */
export const COUNT_UNDELIVERED = countUndelivered('date_ended is null');

/** Counts what live hooks outside of backoff still have to receive: pending deliveries, and all manual attempts. */
export const COUNT_UNDELIVERED_WITHOUT_BACKOFF = countUndelivered('date_ended is null and failures = 0');

/** Invariants of every database: each query must return no row. */
const invariants = {
  'live without its target': `select hook_id from hooks where date_ended is null
    and hook_id not in (select hook_id from targets)`,
  'ended, and has its target': `select hook_id from hooks join targets using (hook_id) where date_ended is not null`,
  'ended, and asked for something': `select hook_id from hooks join manual_attempts using (hook_id) where date_ended is not null`,
  'pending, and told': 'select delivery_id from pending_deliveries join finalized_deliveries using (delivery_id)',
  // Completions are unique, because no client completes a reopened record again in the simulation.
  'occurred twice': `select kind, record_id from occurrences where kind like 'new_%' or kind like 'completed_%'
    group by kind, record_id having count(*) > 1`,
  'task complete, and no occurrence': `select task_id from tasks where completed = 1 and task_id not in
    (select record_id from occurrences where kind = 'completed_task')`,
  'subtask complete, and no occurrence': `select subtask_id from subtasks where completed = 1 and subtask_id not in
    (select record_id from occurrences where kind = 'completed_subtask')`,
};

/**
 * Returns the status of each hook, by the path of its target. Hooks that a client deleted, alone or with their
 * user, are left out.
 */
export function readHookStatuses(database: DatabaseSync): ReadonlyMap<string, HookStatus> {
  const rows = queryRows(
    database,
    `select target, failures, ended_reason from hooks where ended_reason not in ('deleted', 'user_deleted', 'role_lost')`,
  );
  return new Map(rows.map((row) => [targetPath(row.target), statusOf(row)]));
}

export function pendingDeliveryIds(database: DatabaseSync): ReadonlySet<string> {
  return new Set(
    queryRows(database, 'select delivery_id from pending_deliveries').map((row) => String(row.delivery_id)),
  );
}

/** An occurrence as the feed shows it. */
type FeedEntry = DatabaseContent['occurrences'][number];

/** Final content of a database, with the violations of its own invariants. */
export type StoredState = DatabaseContent & {
  readonly feeds: ReadonlyMap<string, readonly FeedEntry[]>;
  /** Stored attempts of each delivery, without those that ended with a local error. */
  readonly attempts: ReadonlyMap<string, number>;
  readonly violations: readonly string[];
};

const nameColumns = {
  event: 'event_name',
  client: 'client_name',
  project: 'project_name',
  task: 'task_name',
  subtask: 'subtask_name',
};

export function readStoredState(database: DatabaseSync, baseUrl: string): StoredState {
  const violations = queryRows(database, 'pragma integrity_check')
    .map((row) => String(row.integrity_check))
    .filter((line) => line !== 'ok');
  for (const [what, sql] of Object.entries(invariants)) {
    violations.push(...queryRows(database, sql).map((row) => `${Object.values(row).join(' ')} is ${what}`));
  }
  const records = new Map<string, string>();
  for (const [resourceType, column] of Object.entries(nameColumns)) {
    const { collection } = resourceTypes[resourceType as keyof typeof nameColumns];
    for (const row of queryRows(database, `select ${resourceType}_id as id, ${column} as word from ${resourceType}s`)) {
      records.set(`${baseUrl}/v2${collection}/${row.id}`, String(row.word));
    }
  }
  const facts = new Map<string, FeedEntry[]>();
  const accounts = queryRows(
    database,
    'select domain, accounts.account_id, position from accounts join positions using (account_id)',
  );
  for (const { domain, account_id, position } of accounts) {
    const rows = queryRows(database, `select * from occurrences where account_id = ${account_id} order by position`);
    const places = rows.map((row) => row.position);
    if (places.length !== position || places.some((place, index) => place !== index + 1)) {
      violations.push(`${domain} is at ${position}, and its occurrences are at ${places.join(' ')}`);
    }
    const occurrences = rows.map((row) => ({
      kind: String(row.kind),
      userId: String(row.user_id),
      record: buildResourceUrl(baseUrl, row.kind as OccurrenceKind, Number(row.record_id)),
      place: {
        domain: String(domain),
        position: Number(row.position),
        projectId: String(row.project_id),
        // The feed shows a former project only if the record has left it.
        previousProjectId: row.previous_project_id === row.project_id ? '0' : String(row.previous_project_id),
        fields: String(row.fields ?? ''),
      },
    }));
    facts.set(String(domain), occurrences);
  }
  const hooks = queryRows(database, 'select * from hooks join accounts using (account_id)').map((row) => ({
    path: targetPath(row.target),
    kind: String(row.events),
    scope: String(row.scope),
    projectId: String(row.project_id),
    domain: String(row.domain),
    userId: String(row.user_id),
    endedReason: row.date_ended === null ? null : String(row.ended_reason),
    address: `${baseUrl}/v2/hooks/${row.hook_id}`,
  }));
  const live = queryRows(database, 'select target from hooks where date_ended is null').map(({ target }) => target);
  violations.push(
    ...live.filter((target, index) => live.indexOf(target) !== index).map((target) => `${target} has two live hooks`),
  );
  const occurrences = [...facts.values()].flat();
  const [pending] = queryRows(database, COUNT_UNDELIVERED);
  const made = queryRows(
    database,
    `select delivery_id, count(*) as count from attempts
      where outcome not in (${localErrorOutcomes.map((word) => `'${word}'`).join()}) group by delivery_id`,
  );
  const attempts = new Map(made.map((row) => [String(row.delivery_id), Number(row.count)]));
  const otherRecords = new Set(occurrences.map(({ record }) => record).filter((record) => record.includes('/users/')));
  return {
    ...{ records, occurrences, otherRecords, hooks, pending: Number(pending?.pending) },
    ...{ feeds: facts, attempts, violations },
  };
}
