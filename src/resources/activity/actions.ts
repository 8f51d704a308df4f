import { type DeliveryKind, type Kind, resourceTypeOf, resourceUrl } from '../../delivery/outbox/event-kinds.ts';
import type { Shown } from '../../http/fields/field.ts';
import type { Given } from '../../http/routes/query-parameters.ts';
import type { Caller } from '../../permissions.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { lastAttempts, pending, settled } from '../deliveries/deliveries.ts';
import { getHook } from '../hooks/actions.ts';
import { type Occurrence, occurrencesOf } from '../notifications/queries.ts';
import { type Reach, reachOf } from '../notifications/visibility.ts';
import { type activityFields, type activityParameters, type OutcomeRow, USUAL_ENTRIES } from './schema.ts';

/** How far back one call looks, in positions, for entries that the caller is shown. */
const MAX_POSITIONS_PER_CALL = 100_000;

/** How far the clocks of two nodes may be apart when it is asked what a hook can have been told of. */
const CLOCKS_APART_MS = 60_000;

/**
 * Deliveries of one page that are pending, and that are settled: the page ends before more of them. So many with the
 * longest addresses are less than the largest page of a list.
 */
const MAX_DELIVERIES = 500;

type ActivityRow = Shown<typeof activityFields>;
type Wanted = Given<typeof activityParameters>;

/** `next`: the cursor before which to go on, undefined at the end. */
export type Past = { readonly rows: readonly ActivityRow[]; readonly next: number | undefined };

/**
 * What happened before a cursor, the newest first, and what came of each at the hooks it was pending for. Positions are given
 * out in the order of the commits, so that nothing comes in between while others write. Who may see what is as in the feed.
 */
export async function listActivity(view: AccountView, caller: Caller, wanted: Wanted, baseUrl: string): Promise<Past> {
  const { hook_id: hookId, limit = USUAL_ENTRIES } = wanted;
  const past = hookId === undefined ? reachOf(caller, wanted) : await reachOfHook(view, caller, wanted, hookId);
  const { position } = await view.selectFrom('positions').select('positions.position').executeTakeFirstOrThrow();
  const before = Math.min(wanted.before ?? position + 1, position + 1);
  const found = await occurrencesBefore(view, past, before, limit);
  const { deliveries, completeFrom } = await deliveriesOf(view, found.occurrences, hookId);
  const complete = found.occurrences.filter((one, index) => index === 0 || one.position >= completeFrom);
  const rows = complete
    .map((one) => shown(one, deliveries.get(one.position) ?? [], baseUrl))
    .filter((row) => hookId === undefined || row.deliveries.length > 0);
  const isCut = complete.length < found.occurrences.length;
  return { rows, next: isCut ? complete.at(-1)?.position : found.next };
}

/** Which occurrences are looked for: of whom, of which kinds, and from when to when. */
type PastReach = Reach & { readonly since?: number; readonly until?: number | undefined };

/**
 * What a hook can have been told of: what its user caused, of its kind, while it lived. Whoever may see the hook may see
 * that.
 */
async function reachOfHook(view: AccountView, caller: Caller, wanted: Wanted, hookId: number): Promise<PastReach> {
  const { kinds } = reachOf(caller, wanted);
  const { user_id: userId, event, date_created: created, date_ended: ended } = await getHook(view, caller, hookId);
  return {
    userId: userId ?? 0,
    kinds: new Set([event ?? ''].filter((kind) => kinds.has(kind))),
    since: (created ?? 0) - CLOCKS_APART_MS,
    until: ended === null ? undefined : ended + CLOCKS_APART_MS,
  };
}

async function occurrencesBefore(
  view: AccountView,
  reach: PastReach,
  before: number,
  limit: number,
): Promise<{ occurrences: Occurrence[]; next: number | undefined }> {
  const lowest = before - MAX_POSITIONS_PER_CALL;
  const occurrences = await occurrencesBetween(view, reach, lowest, before, limit);
  const reached = occurrences.length < limit ? lowest : (occurrences.at(-1)?.position ?? lowest);
  return { occurrences, next: (await isEnd(view, reach, reached)) ? undefined : reached };
}

async function occurrencesBetween(
  view: AccountView,
  { userId, kinds, since, until }: PastReach,
  lowest: number,
  before: number,
  limit: number,
): Promise<Occurrence[]> {
  if (kinds.size === 0) return [];
  let query = occurrencesOf(view)
    .where('occurrences.position', '<', before)
    .where('occurrences.position', '>=', lowest)
    .where('occurrences.kind', 'in', [...kinds]);
  if (userId !== undefined) query = query.where('occurrences.user_id', '=', userId);
  if (since !== undefined) query = query.where('occurrences.occurred_at', '>=', since);
  if (until !== undefined) query = query.where('occurrences.occurred_at', '<=', until);
  return query.orderBy('occurrences.position', 'desc').limit(limit).execute();
}

/** Whether nothing is kept before a position, or nothing that is looked for. */
async function isEnd(view: AccountView, { since, kinds }: PastReach, position: number): Promise<boolean> {
  if (kinds.size === 0) return true;
  const oldest = await occurrencesOf(view).orderBy('occurrences.position').limit(1).executeTakeFirst();
  if (oldest === undefined || oldest.position >= position) return true;
  if (since === undefined) return false;
  const there = await occurrencesOf(view).where('occurrences.position', '=', position).executeTakeFirst();
  return there !== undefined && there.occurred_at < since;
}

type Deliveries = ReadonlyMap<number, readonly OutcomeRow[]>;

/** By position; those at `completeFrom` and above are all there. */
async function deliveriesOf(
  view: AccountView,
  occurrences: readonly Occurrence[],
  hookId: number | undefined,
): Promise<{ deliveries: Deliveries; completeFrom: number }> {
  if (occurrences.length === 0) return { deliveries: new Map(), completeFrom: 0 };
  const positions = occurrences.map(({ position }) => position);
  const [waiting, past] = [await pendingAt(view, positions, hookId), await settledAt(view, positions, hookId)];
  const completeFrom = Math.max(...[waiting, past].map(completeAbove));
  const found = [...waiting, ...past].sort((one, other) => one.id - other.id);
  const ids = found.map(({ id }) => id);
  const [last, fetches] = [await lastAttempts(view, ids), await fetchesOf(view, found)];
  const rows = found.map((row) => {
    const fetchedAt = fetches.get(fetchName(row)) ?? 0;
    return {
      position: row.position ?? 0,
      outcome: {
        id: row.id,
        hook_id: row.hook_id,
        target_url: row.target_url,
        user_id: row.user_id,
        state: row.state,
        last_outcome: last.get(row.id)?.outcome ?? '',
        attempts: last.get(row.id)?.attempts ?? 0,
        milliseconds: last.get(row.id)?.milliseconds ?? 0,
        created_at: row.date_created,
        date_finalized: row.date_finalized,
        fetched_at: fetchedAt >= row.date_created ? fetchedAt : null,
      },
    };
  });
  const byPosition = Map.groupBy(rows, ({ position }) => position);
  const deliveries = new Map([...byPosition].map(([at, all]) => [at, all.map(({ outcome }) => outcome)]));
  return { deliveries, completeFrom };
}

/** Where a query that was cut off has reached, the rest of that position may be missing. */
function completeAbove(rows: readonly { readonly position: number | null }[]): number {
  return rows.length < MAX_DELIVERIES ? 0 : (rows.at(-1)?.position ?? 0) + 1;
}

function pendingAt(view: AccountView, positions: readonly number[], hookId: number | undefined) {
  let query = pending(view)
    .select(['pending_deliveries.position', 'hooks.target as target_url'])
    .where('pending_deliveries.position', 'in', positions);
  if (hookId !== undefined) query = query.where('pending_deliveries.hook_id', '=', hookId);
  return query.orderBy('pending_deliveries.position', 'desc').limit(MAX_DELIVERIES).execute();
}

function settledAt(view: AccountView, positions: readonly number[], hookId: number | undefined) {
  let query = settled(view)
    .leftJoin('hooks', 'hooks.hook_id', 'finalized_deliveries.hook_id')
    .select(['finalized_deliveries.position', 'hooks.target as target_url'])
    .where('finalized_deliveries.position', 'in', positions);
  if (hookId !== undefined) query = query.where('finalized_deliveries.hook_id', '=', hookId);
  return query.orderBy('finalized_deliveries.position', 'desc').limit(MAX_DELIVERIES).execute();
}

type Found = { readonly id: number; readonly user_id: number; readonly kind: string; readonly record_id: number };

type Fetch = { readonly user_id: number; readonly resource_type: string; readonly record_id: number };

const nameOf = ({ user_id, resource_type, record_id }: Fetch) => `${user_id} ${resource_type} ${record_id}`;

function fetchName({ user_id, kind, record_id }: Found): string {
  return nameOf({ user_id, resource_type: resourceTypeOf(kind as DeliveryKind), record_id });
}

/** When the users who were told have last fetched what they were told of. */
async function fetchesOf(view: AccountView, found: readonly Found[]): Promise<ReadonlyMap<string, number>> {
  if (found.length === 0) return new Map();
  const distinct = <T>(values: readonly T[]) => [...new Set(values)];
  const rows = await view
    .selectFrom('read_receipts')
    .select([
      'read_receipts.user_id',
      'read_receipts.resource_type',
      'read_receipts.record_id',
      'read_receipts.fetched_at',
    ])
    .where('read_receipts.user_id', 'in', distinct(found.map(({ user_id }) => user_id)))
    .where('read_receipts.resource_type', 'in', distinct(found.map(({ kind }) => resourceTypeOf(kind as DeliveryKind))))
    .where('read_receipts.record_id', 'in', distinct(found.map(({ record_id }) => record_id)))
    .execute();
  return new Map(rows.map((row) => [nameOf(row), row.fetched_at]));
}

function shown(occurrence: Occurrence, deliveries: readonly OutcomeRow[], baseUrl: string): ActivityRow {
  const { position, ...rest } = occurrence;
  const resource_url = resourceUrl(baseUrl, rest.kind as Kind, rest.record_id);
  return { ...rest, cursor: position, resource_url, deliveries };
}
