import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Permission } from '../../permissions.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import { hasConcurrentWriters } from '../../store/prepared-queries.ts';
import type { Queries } from '../../store/store.ts';
import { type OccurrenceKind, occurrenceKinds, permissionFor } from './event-kinds.ts';

/**
 * Whose occurrences a hook reports (X11): `own`: those that its user caused; `project`: those of one project and the
 * records in it; `account`: all.
 */
export const hookScopes = ['own', 'project', 'account'] as const;

export type HookScope = (typeof hookScopes)[number];

/** The `events` of a hook that reports every kind, also kinds that later versions add. */
export const ALL_KINDS = '*';

/** The columns of a hook that determine which occurrences it reports. */
export type SubscriptionColumns = {
  readonly user_id: number;
  /** The kinds, separated by commas, or ALL_KINDS. */
  readonly events: string;
  readonly scope: string;
  readonly project_id: number;
  /** The permissions that limit ALL_KINDS, separated by commas: those of the key that set `events`. */
  readonly permissions: string;
};

const audienceOf = ({ scope, user_id, project_id }: SubscriptionColumns): string => {
  if (scope === 'account') return 'account';
  return scope === 'project' ? `project:${project_id}` : `user:${user_id}`;
};

/** The kind in `subscriptions` that stands for all kinds whose records a permission can read. */
export const wildcardOf = (permission: Permission): string => `*${permission}`;

/** Returns the kinds that a hook reports. */
export function kindsOf({ events, permissions }: Pick<SubscriptionColumns, 'events' | 'permissions'>) {
  const readable = new Set(permissions.split(','));
  const names = new Set(events.split(','));
  return occurrenceKinds.filter((kind) => (events === ALL_KINDS ? readable.has(permissionFor(kind)) : names.has(kind)));
}

/** A hook with the columns that its subscriptions are derived from. */
export type SubscribedHook = SubscriptionColumns & { readonly hook_id: number };

/** Returns the rows of `subscriptions` that the columns of a live hook ask for, without the account. */
export function toSubscriptionRows(hook: SubscribedHook) {
  const { hook_id, user_id, events, permissions } = hook;
  const kinds =
    events === ALL_KINDS
      ? permissions.split(',').map((permission) => wildcardOf(permission as Permission))
      : events.split(',');
  return kinds.map((kind) => ({ audience: audienceOf(hook), kind, hook_id, user_id }));
}

/** Inserts the subscriptions of a live hook. */
export async function insertSubscriptions(write: AccountWrite, hook: SubscribedHook): Promise<void> {
  await write.insertInto('subscriptions', toSubscriptionRows(hook)).execute();
}

/** Stores what a live hook subscribes to from now on. */
export async function replaceSubscriptions(write: AccountWrite, hook: SubscribedHook): Promise<void> {
  const { hook_id, events, permissions, scope, project_id } = hook;
  await write
    .updateTable('hooks')
    .set({ events, permissions, scope, project_id })
    .where('hook_id', '=', hook_id)
    .execute();
  await write.deleteFrom('subscriptions').where('hook_id', '=', hook_id).execute();
  await insertSubscriptions(write, hook);
}

/**
 * SQL that joins `facts` (occurrences with the column `wildcard`, see `record-occurrences.ts`) with the subscriptions of
 * the live hooks that report them. A hook has one audience, and names either kinds or wildcards, so it joins a fact at
 * most once.
 */
export function joinSubscriptions(queries: Queries): RawBuilder<unknown> {
  // PostgreSQL searches an index for `= any (array)`; `in` with columns of another table becomes a filter.
  const isAnyOf = (column: Expression<unknown>, values: Expression<unknown>): Expression<SqlBool> =>
    hasConcurrentWriters(queries)
      ? sql<SqlBool>`${column} = any (array[${values}])`
      : sql<SqlBool>`${column} in (${values})`;
  const audiences = sql`'user:' || facts.user_id, 'account', 'project:' || facts.project_id,
    'project:' || facts.previous_project_id`;
  return sql`join subscriptions on facts.is_silent = 0 and subscriptions.account_id = facts.account_id
      and ${isAnyOf(sql`subscriptions.audience`, audiences)}
      and ${isAnyOf(sql`subscriptions.kind`, sql`facts.kind, facts.wildcard`)}`;
}

/** Builds the condition for the stored occurrences that a hook reports. */
export function buildReportedCondition(columns: SubscriptionColumns): Expression<SqlBool> {
  const kinds: readonly OccurrenceKind[] = kindsOf(columns);
  if (kinds.length === 0) return sql<SqlBool>`1 = 0`;
  const kindCondition = sql<SqlBool>`occurrences.is_silent = 0 and occurrences.kind in (${sql.join(kinds)})`;
  if (columns.scope === 'account') return kindCondition;
  if (columns.scope === 'own') return sql<SqlBool>`${kindCondition} and occurrences.user_id = ${columns.user_id}`;
  return sql<SqlBool>`${kindCondition}
    and ${columns.project_id} in (occurrences.project_id, occurrences.previous_project_id)`;
}
