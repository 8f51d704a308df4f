import { type Expression, type SqlBool, sql } from 'kysely';
import { prepareQuery } from '../../store/prepared-queries.ts';
import type { Queries, Tx } from '../../store/store.ts';
import type { Lease } from './leases.ts';

/** SQL condition: the hook has ended or has new settings, and its lease owner has not acknowledged that yet. */
const unacknowledgedCondition = sql<SqlBool>`(hooks.date_ended is not null or hooks.unacknowledged <> 0)`;

/** SQL condition: the hook is not leased, or leased to this node, or leased to a node that was evicted. */
export function buildClaimableCondition(nodeId: number): Expression<SqlBool> {
  return buildFreeForNodeCondition(nodeId, sql.ref<number>('hooks.lease_owner'));
}

/** SQL condition like `buildClaimableCondition`, for any column with the id of a node (0: none). */
export function buildFreeForNodeCondition(nodeId: number, ownerColumn: Expression<number>): Expression<SqlBool> {
  return sql<SqlBool>`(${ownerColumn} in (0, ${nodeId})
    or not exists (select 1 from nodes where nodes.node_id = ${ownerColumn}))`;
}

type NodeIdParameter = { readonly nodeId: number };

/** A result row of the heartbeat statement for a peer; `value` is the heartbeat counter of the peer. */
export type PeerHeartbeat = { readonly what: 'peer'; readonly id: number; readonly value: number };
/**
 * A result row of the heartbeat statement for a hook that this node must acknowledge: the node leases the hook, another
 * node ended it or changed its settings, and the commit event has not been processed here. `value` is the time when the
 * hook ended; null if only its settings changed.
 */
export type UnacknowledgedHook = { readonly what: 'hook'; readonly id: number; readonly value: number | null };
type HeartbeatRow =
  | PeerHeartbeat
  | UnacknowledgedHook
  | { readonly what: 'self'; readonly id: number; readonly value: null };

/**
 * Sends the heartbeat, and returns the peers and the unacknowledged hooks, in one statement. `lease_owner <> 0` is
 * redundant; it lets a cached plan use the partial index.
 */
export const renewHeartbeat = prepareQuery((_, { nodeId }: NodeIdParameter) => {
  const renewedCte = sql`with renewed as (update nodes set heartbeat = heartbeat + 1 where node_id = ${nodeId} returning node_id)`;
  return sql<HeartbeatRow>`${renewedCte}
    select 'self' as what, node_id as id, null::int8 as value from renewed
    union all select 'peer', node_id, heartbeat from nodes where node_id <> ${nodeId}
    union all select 'hook', hook_id, date_ended from hooks
      where lease_owner = ${nodeId} and lease_owner <> 0 and ${unacknowledgedCondition}`;
});

/**
 * Frees leases of a node. If the node has claimed a hook again in the meantime, the generation is higher, and the new
 * lease is kept. The end of a hook raises the generation too, but the lease of an ended hook is freed.
 */
export async function releaseLeases(queries: Queries, nodeId: number, leases: readonly Lease[]): Promise<void> {
  const hookIds = leases.map(({ hookId }) => hookId);
  const generations = leases.map(({ generation }) => generation);
  await sql`update hooks set lease_owner = 0
    from unnest(${hookIds}::int8[], ${generations}::int8[]) as held (hook_id, generation)
    where hooks.hook_id = held.hook_id and hooks.lease_owner = ${nodeId}
      and (hooks.generation = held.generation or hooks.date_ended is not null)`.execute(queries);
}

/** Frees all leases of a node, and adds a commit event with the live hooks. Returns the number of leases. */
export async function freeAllLeases({ queries, events }: Tx, nodeId: number): Promise<number> {
  const freedHooks = await queries
    .updateTable('hooks')
    .set({ lease_owner: 0 })
    .where('lease_owner', '=', nodeId)
    .returning(['hook_id', 'date_ended'])
    .execute();
  events.addPendingHooks(freedHooks.filter((row) => row.date_ended === null).map((row) => row.hook_id));
  return freedHooks.length;
}

/**
 * Deletes a node and frees its leases, unless it has sent a heartbeat in the meantime. Returns the number of leases;
 * undefined if the node was not deleted.
 */
export async function evictNode(tx: Tx, nodeId: number, heartbeat: number): Promise<number | undefined> {
  const deletedNodes = await tx.queries
    .deleteFrom('nodes')
    .where('node_id', '=', nodeId)
    .where('heartbeat', '=', heartbeat)
    .returning('node_id')
    .execute();
  return deletedNodes.length === 0 ? undefined : freeAllLeases(tx, nodeId);
}

/** Returns the hooks leased by another node that has not yet acknowledged their end or their new settings. */
export async function findUnacknowledgedHooks(
  read: Queries,
  nodeId: number,
  hookIds: readonly number[],
): Promise<readonly number[]> {
  const rows = await read
    .selectFrom('hooks')
    .innerJoin('nodes', 'nodes.node_id', 'hooks.lease_owner')
    .select('hooks.hook_id')
    .where('hooks.hook_id', 'in', hookIds)
    .where(unacknowledgedCondition)
    .where('nodes.node_id', '<>', nodeId)
    .execute();
  return rows.map((row) => row.hook_id);
}
