import { type Expression, type SqlBool, sql } from 'kysely';
import type { Store } from '../../store/store.ts';
import { claimQueues, type HookQueueRow, queuesWithWork, type Work } from '../dispatcher/queries.ts';

/** What a node tells its engine. */
export type LeaseListeners = {
  /** Attempts may begin again. */
  readonly onLeaseRenewed: () => void;
  /** Lanes of these hooks are not this node's any more; all of them are not, when undefined. */
  readonly onLeasesLost: (hookIds: readonly number[] | undefined) => void;
  /** What the lanes of these hooks remember has changed, and no news has told of it. */
  readonly onChanged: (hookIds: readonly number[]) => void;
};

/** How lanes come to an engine, and how it knows that they are its own. */
export type LeaseManager = {
  /** Begins; the engine hears from here on. */
  start(listeners: LeaseListeners): Promise<void>;
  /** Shows this node to the others and takes nothing up: for one that only answers callers. */
  joinAsApiOnly(): Promise<void>;
  /** Whether an attempt may begin at this very moment. */
  isLeaseValid(): boolean;
  /** Takes these lanes up, as far as they are live and nobody else's. */
  claim(hookIds: readonly number[]): Promise<HookQueueRow[]>;
  /** Lets go of lanes, each as it was taken up. */
  release(queues: readonly Lease[]): Promise<void>;
  /** What the lanes of these hooks remembered is forgotten: whoever has changed it may go on. */
  acknowledge(hookIds: readonly number[]): Promise<void>;
  /** From now on nothing is taken up, and what is let go of is for the others. */
  stopClaiming(): void;
  /** Lets go of everything, at a stop. */
  stop(): Promise<void>;
  /** How often what may be taken up is looked for, milliseconds, whatever wake-ups there were. */
  readonly pollMs: number;
  /** Whether lanes that are idle are to be let go, so that others may have them. */
  readonly isShared: boolean;
  /** Hooks behind this one that something is pending for or asked for on and that may be taken up; and where to go on. */
  findWork(after: number): Promise<Work>;
};

/** Who a node is to rows other than lanes that one of several has at a time. */
export type LeaseOwner = {
  /** How such a row names this node; 0 where there is no other. */
  readonly nodeId: number;
  /** Whether a row may be taken: it is nobody's, this node's own, or that of one that is gone. */
  isFree(owner: Expression<number>): Expression<SqlBool>;
  /** Whether what it has is its own at this very moment. */
  isLeaseValid(): boolean;
};

/** A lane as it was taken up. */
export type Lease = { readonly hookId: number; readonly generation: number };

/** How often the database is asked for what no wake-up told of, where there is no other node. */
const POLL_MS = 60_000;

/** Where this process has the database alone, every lane is its own. */
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
