import { type Expression, type SqlBool, sql } from 'kysely';
import type { Store } from '../../store/store.ts';
import { findHooksWithWork, findLiveHooks, type HookQueueRow, type PendingWork } from '../dispatcher/queries.ts';

/** Callbacks from the lease manager to the dispatcher. */
export type LeaseListeners = {
  /** Called when the leases are valid again after failed heartbeats. From now on, attempts may start. */
  readonly onLeasesValidAgain: () => void;
  /** Called when leases are lost. Undefined means that this node was evicted and has lost all of its leases. */
  readonly onLeasesLost: (hookIds: readonly number[] | undefined) => void;
  /** Called when the cached settings of these hooks are stale and this node has not seen their commit event. */
  readonly onSettingsChanged: (hookIds: readonly number[]) => void;
};

/**
 * Leases of hook queues: only the node that has the lease of a hook sends its deliveries. A lease is valid as
 * long as its node's heartbeat is confirmed. Each claim raises the hook's generation, the fencing token.
 */
export type LeaseManager = {
  /** Starts heartbeats; `listeners` are called from now on. */
  start(listeners: LeaseListeners): Promise<void>;
  /** Joins the cluster without claiming leases: for a node that only serves the API. */
  joinAsApiOnly(): Promise<void>;
  /** Whether an attempt may start now. */
  isLeaseValid(): boolean;
  /**
   * Claims the given hooks, except those that have ended or are leased to another live node. Returns the claimed hooks.
   */
  claim(hookIds: readonly number[]): Promise<HookQueueRow[]>;
  /** Releases leases. A lease whose generation has changed since the claim is not released. */
  release(leases: readonly Lease[]): Promise<void>;
  /**
   * Acknowledges that this node no longer uses its cached data of these hooks, so that the write that changed them can
   * return.
   */
  acknowledgeChanges(hookIds: readonly number[]): Promise<void>;
  /** Begins a graceful shutdown: no hook is claimed any more, and `release` sends commit events to the other nodes. */
  stopClaiming(): void;
  /** Releases all leases and leaves the cluster. */
  stop(): Promise<void>;
  /** Interval of the poll for pending work, in milliseconds. The poll finds work whose commit event was lost. */
  readonly pollIntervalMs: number;
  /** Whether several nodes may use the database. If so, idle leases are released, so that other nodes can claim. */
  readonly isMultiNode: boolean;
  /**
   * Returns one page of claimable hooks with pending deliveries or manual attempts. `afterHookId` is the last hook id
   * of the previous page.
   */
  findPendingWork(afterHookId: number): Promise<PendingWork>;
};

/** The identity of this node, for leases of other rows than hooks, such as mails. */
export type LeaseOwner = {
  /** Value of the column `lease_owner` in a row that this node leases; 0 for a single node. */
  readonly nodeId: number;
  /** SQL condition: the row is not leased, or leased to this node, or to a node that no longer exists. */
  buildFreeCondition(ownerColumn: Expression<number>): Expression<SqlBool>;
  /** Whether this node's leases are valid now. */
  isLeaseValid(): boolean;
};

/** The lease of a hook. `generation` is the fencing token at the time of the claim. */
export type Lease = { readonly hookId: number; readonly generation: number };

/** Interval of the poll for pending work on a single node. */
const SINGLE_NODE_POLL_INTERVAL_MS = 60_000;

/** Leases for a process that has the database to itself: every lease is always valid. */
export function createSingleNodeLeases(store: Store): LeaseManager & LeaseOwner {
  return {
    nodeId: 0,
    buildFreeCondition: () => sql<SqlBool>`1 = 1`,
    pollIntervalMs: SINGLE_NODE_POLL_INTERVAL_MS,
    isMultiNode: false,
    async start() {},
    async joinAsApiOnly() {},
    isLeaseValid: () => true,
    claim: (hookIds) => findLiveHooks(store.read, hookIds),
    async release() {},
    async acknowledgeChanges() {},
    stopClaiming() {},
    async stop() {},
    findPendingWork: (afterHookId) => findHooksWithWork(store.read, afterHookId),
  };
}
