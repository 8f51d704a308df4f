import { type Expression, type SqlBool, sql } from 'kysely';
import type { Store } from '../../store/store.ts';
import { claimQueues, type HookQueueRow, type PendingWork, queuesWithWork } from '../dispatcher/queries.ts';

/** Callbacks from the lease manager to the dispatcher. */
export type LeaseListeners = {
  /** The lease is valid again after heartbeats had failed: attempts may start. */
  readonly onLeaseRenewed: () => void;
  /** The leases of these hooks are lost; undefined: this node was evicted and has lost all of them. */
  readonly onLeasesLost: (hookIds: readonly number[] | undefined) => void;
  /** Cached data of these hooks (signing secrets) is stale, and the notification was lost or has not arrived. */
  readonly onChanged: (hookIds: readonly number[]) => void;
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
  /** Claims those of these hooks that are live and not leased to another live node. */
  claim(hookIds: readonly number[]): Promise<HookQueueRow[]>;
  /** Releases leases; one whose generation has changed since the claim is kept. */
  release(queues: readonly Lease[]): Promise<void>;
  /**
   * Acknowledges a change: this node's cached data of these hooks is dropped, so the write that waits for that
   * can return.
   */
  acknowledge(hookIds: readonly number[]): Promise<void>;
  /** Graceful shutdown: claims nothing more, and announces released hooks to the other nodes. */
  stopClaiming(): void;
  /** Releases all leases and leaves the cluster. */
  stop(): Promise<void>;
  /** Interval of the poll for pending work, milliseconds. It finds what a lost wake-up missed. */
  readonly pollMs: number;
  /** Whether other nodes may share the work, so that idle leases are released. */
  readonly isShared: boolean;
  /** One page of claimable hooks with pending deliveries or manual attempts, after a hook id. */
  findWork(after: number): Promise<PendingWork>;
};

/** The identity of this node, for leases of other rows than hooks (mails). */
export type LeaseOwner = {
  /** Value of `lease_owner` in such a row; 0 for a single node. */
  readonly nodeId: number;
  /** SQL condition: the row is not leased, or leased to this node, or to a node that no longer exists. */
  isFree(owner: Expression<number>): Expression<SqlBool>;
  /** Whether this node's leases are valid now. */
  isLeaseValid(): boolean;
};

/** A hook with its fencing token at the time of the claim. */
export type Lease = { readonly hookId: number; readonly generation: number };

/** Poll interval of a single node. */
const POLL_MS = 60_000;

/** Leases for a process that has the database to itself: every lease is always valid. */
export function singleNodeLeases(store: Store): LeaseManager & LeaseOwner {
  return {
    nodeId: 0,
    isFree: () => sql<SqlBool>`1 = 1`,
    pollMs: POLL_MS,
    isShared: false,
    async start() {},
    async joinAsApiOnly() {},
    isLeaseValid: () => true,
    claim: (hookIds) => claimQueues(store.read, hookIds),
    async release() {},
    async acknowledge() {},
    stopClaiming() {},
    async stop() {},
    findWork: (after) => queuesWithWork(store.read, after),
  };
}
