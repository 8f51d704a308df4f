import type { Expression, SqlBool } from 'kysely';
import { splitIntoBatches } from '../../async/batches.ts';
import { PollLoop } from '../../async/poll-loop.ts';
import { SingleFlight } from '../../async/single-flight.ts';
import { type Clock, sleep } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { ClusterSession, CommitEvents, Store } from '../../store/store.ts';
import { version } from '../../version.ts';
import { claimLeases, findHooksWithWork, type HookQueueRow, type PendingWork } from '../dispatcher/queries.ts';
import {
  buildClaimableCondition,
  buildFreeForNodeCondition,
  evictNode,
  findUnacknowledgedHooks,
  freeAllLeases,
  type PeerHeartbeat,
  releaseLeases,
  renewHeartbeat,
  type UnacknowledgedHook,
} from './cluster-queries.ts';
import type { Lease, LeaseListeners, LeaseManager, LeaseOwner } from './leases.ts';

/** Interval of heartbeats. Each heartbeat also checks the peers. */
const HEARTBEAT_INTERVAL_MS = 200;
/** Lifetime of leases, from the time when a confirmed heartbeat was sent, on this node's monotonic clock. */
const LEASE_TTL_MS = 1_000;

/**
 * A peer whose database connection is closed (it was killed) is evicted after this time without a heartbeat, which is
 * longer than its leases are valid.
 */
const DEAD_AFTER_MS = LEASE_TTL_MS + 100;

/**
 * A peer whose database connection is open (it is paused or cut off) is evicted after this time without a heartbeat.
 */
const UNRESPONSIVE_AFTER_MS = 8_000;
/** Interval of the poll for pending work. The poll finds work whose commit event was lost. */
const POLL_INTERVAL_MS = 1_000;
/** Interval at which a write that ended or changed a hook checks whether the lease owner has acknowledged it. */
const ACK_POLL_INTERVAL_MS = 10;
/** Leases released per transaction. The number is small, because a claim of one of these hooks waits for the commit. */
const LEASES_PER_RELEASE = 500;
/** Hooks per query for acknowledgements. Well below PostgreSQL's limit of 65,535 parameters per statement. */
const HOOKS_PER_ACK_QUERY = 1_000;

/** The heartbeat counter of a peer, and the time since which it has not changed, by this node's monotonic clock. */
type PeerState = { heartbeat: number; unchangedSince: number };
/** A peer whose heartbeat counter has not changed for `silentMs`. */
type SilentPeer = { readonly node_id: number; readonly heartbeat: number; readonly silentMs: number };

type ClusterNodeDeps = {
  readonly store: Store;
  readonly clusterSession: ClusterSession;
  /** Clock for heartbeats and leases; never replaced by a test's fake clock. */
  readonly realClock: Clock;
  readonly log: Log;
  /** The role of this node, stored in the table `nodes` for operators. */
  readonly role: string;
};

/**
 * Cluster membership of one of several nodes on a PostgreSQL database: heartbeats, leases, eviction.
 *
 * - Heartbeat: every 200 ms a node increments its counter in `nodes`. Its leases are valid, and attempts may
 *   start, for one second after a confirmed heartbeat was sent.
 * - Lease: `hooks.lease_owner`. A claim raises `hooks.generation`, the fencing token: results of the previous
 *   owner do not change the hook.
 * - Eviction (failover): a dead peer, whose counter does not change, is deleted from `nodes` and its leases are
 *   freed, after 1.1 s if its database connection is closed, else after 8 s. Another node takes over (reclaims) its
 *   hooks, and sends deliveries that were in flight on the crashed node again, with the same `Webhook-Id`. No clocks are
 *   compared: each node measures with its own monotonic clock how long a counter has not changed.
 * - Acknowledgement: a write that ends a hook or changes its settings returns only after the lease owner has
 *   acknowledged it, or was evicted (C13, C23, X8).
 */
export class ClusterNode implements LeaseManager, LeaseOwner {
  readonly pollIntervalMs = POLL_INTERVAL_MS;
  readonly isMultiNode = true;
  readonly #deps: ClusterNodeDeps;
  readonly #peers = new Map<number, PeerState>();
  /** Evictions in progress, by node id. */
  readonly #evictions = new SingleFlight<number, void>();
  readonly #heartbeatLoop: PollLoop;
  #listeners: LeaseListeners | undefined;
  #nodeId = 0;
  #leaseValidUntilMonotonic = 0;
  /**
   * End of the leases by wall-clock time. It is checked as well, because the monotonic clock does not advance while the
   * machine is suspended.
   */
  #leaseValidUntilWallTime = 0;
  /** Whether a graceful shutdown has begun: no attempt starts and no hook is claimed, but heartbeats continue. */
  #isLeaving = false;
  #isHeartbeatFailing = false;

  constructor(deps: ClusterNodeDeps) {
    this.#deps = deps;
    this.#heartbeatLoop = new PollLoop({
      clock: deps.realClock,
      intervalMs: HEARTBEAT_INTERVAL_MS,
      runTurn: () => this.#sendHeartbeat(),
      onTurnFailed: (error) => this.#onHeartbeatFailed(error),
    });
    deps.store.onCommitted((events) => this.#waitForAcks(events));
  }

  async start(listeners: LeaseListeners): Promise<void> {
    this.#listeners = listeners;
    this.#deps.clusterSession.isDelivering = true;
    await this.joinAsApiOnly();
  }

  /** Joins the cluster without claiming leases: for a node that only serves the API. */
  async joinAsApiOnly(): Promise<void> {
    await this.#join();
    await this.#sendHeartbeat();
    this.#heartbeatLoop.start();
  }

  isLeaseValid(): boolean {
    const { realClock } = this.#deps;
    return (
      !this.#isLeaving &&
      realClock.monotonic() < this.#leaseValidUntilMonotonic &&
      realClock.now() < this.#leaseValidUntilWallTime
    );
  }

  get nodeId(): number {
    return this.#nodeId;
  }

  buildFreeCondition(ownerColumn: Expression<number>): Expression<SqlBool> {
    return buildFreeForNodeCondition(this.#nodeId, ownerColumn);
  }

  async claim(hookIds: readonly number[]): Promise<HookQueueRow[]> {
    const nodeId = this.#nodeId;
    const rows = await this.#deps.store.write(({ queries }) =>
      claimLeases(queries, nodeId, hookIds, buildClaimableCondition(nodeId)),
    );
    // If this node was evicted during the claim, the claimed leases are free again.
    return nodeId === this.#nodeId ? rows : [];
  }

  async release(leases: readonly Lease[]): Promise<void> {
    const nodeId = this.#nodeId;
    for (const batch of splitIntoBatches(leases, LEASES_PER_RELEASE)) {
      await this.#deps.store.write(async (tx) => {
        if (this.#isLeaving) tx.events.addPendingHooks(batch.map(({ hookId }) => hookId));
        await releaseLeases(tx.queries, nodeId, batch);
      });
    }
  }

  async acknowledgeChanges(hookIds: readonly number[]): Promise<void> {
    const nodeId = this.#nodeId;
    await this.#deps.store.write(({ queries }) =>
      queries
        .updateTable('hooks')
        .set({ unacknowledged: 0 })
        .where('hook_id', 'in', hookIds)
        .where('lease_owner', '=', nodeId)
        .execute(),
    );
  }

  findPendingWork(afterHookId: number): Promise<PendingWork> {
    return findHooksWithWork(this.#deps.store.read, afterHookId, buildClaimableCondition(this.#nodeId));
  }

  stopClaiming(): void {
    this.#isLeaving = true;
    this.#deps.clusterSession.isDelivering = false;
  }

  /** Leaves the cluster: frees all leases immediately, and sends the other nodes a commit event with the live hooks. */
  async stop(): Promise<void> {
    await this.#heartbeatLoop.stop();
    await this.#evictions.waitForRuns();
    const { store } = this.#deps;
    const nodeId = this.#nodeId;
    await store.write(async (tx) => {
      await freeAllLeases(tx, nodeId);
      await tx.queries.deleteFrom('nodes').where('node_id', '=', nodeId).execute();
    });
  }

  async #join(): Promise<void> {
    const { store, clusterSession, role } = this.#deps;
    const { node_id } = await store.write(({ queries }) =>
      queries.insertInto('nodes').values({ version, role }).returning('node_id').executeTakeFirstOrThrow(),
    );
    this.#nodeId = node_id;
    await clusterSession.acquireNodeLock(node_id);
  }

  /** Logs a failed heartbeat, once per outage. */
  #onHeartbeatFailed(error: unknown): void {
    if (!this.#isHeartbeatFailing) this.#deps.log.warn({ event: 'node.heartbeat_failed', err: error });
    this.#isHeartbeatFailing = true;
  }

  /**
   * Sends a heartbeat, which renews the leases, and evicts silent peers. A second statement is needed only if a peer is
   * silent.
   */
  async #sendHeartbeat(): Promise<void> {
    const { clusterSession, realClock } = this.#deps;
    const nodeId = this.#nodeId;
    const [sentAt, sentAtWallTime] = [realClock.monotonic(), realClock.now()];
    const rows = await renewHeartbeat(clusterSession.queries, { nodeId });
    if (!rows.some(({ what }) => what === 'self')) return this.#onEvicted();
    this.#isHeartbeatFailing = false;
    const wasLeaseValid = this.isLeaseValid();
    this.#leaseValidUntilMonotonic = sentAt + LEASE_TTL_MS;
    this.#leaseValidUntilWallTime = sentAtWallTime + LEASE_TTL_MS;
    this.#onUnacknowledgedHooks(rows.filter((row) => row.what === 'hook'));
    if (!wasLeaseValid) this.#listeners?.onLeasesValidAgain();
    await this.#evictSilentPeers(rows.filter((row) => row.what === 'peer'));
  }

  #onUnacknowledgedHooks(unacknowledgedHooks: readonly UnacknowledgedHook[]): void {
    const endedHooks = unacknowledgedHooks.filter(({ value }) => value !== null);
    const hooksWithNewSettings = unacknowledgedHooks.filter(({ value }) => value === null);
    if (endedHooks.length > 0) this.#listeners?.onLeasesLost(endedHooks.map(({ id }) => id));
    if (hooksWithNewSettings.length > 0) this.#listeners?.onSettingsChanged(hooksWithNewSettings.map(({ id }) => id));
  }

  /** Called when a peer has evicted this node: all leases are lost, and the node joins again under a new id. */
  async #onEvicted(): Promise<void> {
    this.#deps.log.warn({ event: 'node.evicted', node_id: this.#nodeId });
    this.#leaseValidUntilMonotonic = 0;
    this.#listeners?.onLeasesLost(undefined);
    await this.#join();
  }

  async #evictSilentPeers(peers: readonly PeerHeartbeat[]): Promise<void> {
    const { clusterSession, realClock } = this.#deps;
    const now = realClock.monotonic();
    for (const knownNodeId of this.#peers.keys()) {
      if (!peers.some(({ id }) => id === knownNodeId)) this.#peers.delete(knownNodeId);
    }
    const silentPeers: SilentPeer[] = [];
    for (const { id: node_id, value: heartbeat } of peers) {
      const peerState = this.#peers.get(node_id);
      if (peerState === undefined || peerState.heartbeat !== heartbeat)
        this.#peers.set(node_id, { heartbeat, unchangedSince: now });
      else if (now - peerState.unchangedSince > DEAD_AFTER_MS)
        silentPeers.push({ node_id, heartbeat, silentMs: now - peerState.unchangedSince });
    }
    if (silentPeers.length === 0) return;
    // The open connections are queried only if a peer is silent, because the query scans pg_locks.
    const connectedNodeIds = await clusterSession.findConnectedNodes();
    for (const peer of silentPeers)
      if (!connectedNodeIds.has(peer.node_id) || peer.silentMs > UNRESPONSIVE_AFTER_MS) this.#evictInBackground(peer);
  }

  /**
   * Evicts a peer concurrently with the heartbeats, since rows that the dead node has locked may block the eviction.
   */
  #evictInBackground(peer: SilentPeer): void {
    void this.#evictions.run(peer.node_id, () =>
      this.#evict(peer).catch((error: unknown) => this.#onHeartbeatFailed(error)),
    );
  }

  /**
   * Deletes a peer from `nodes` and frees its leases, which any node can then claim. Does nothing if the peer has sent
   * a heartbeat in the meantime.
   */
  async #evict({ node_id: nodeId, heartbeat, silentMs }: SilentPeer): Promise<void> {
    const { store, log } = this.#deps;
    const freedLeaseCount = await store.write((tx) => evictNode(tx, nodeId, heartbeat));
    if (freedLeaseCount === undefined) return;
    this.#peers.delete(nodeId);
    log.warn({ event: 'node.peer_evicted', node_id: nodeId, silent_ms: Math.round(silentMs), queues: freedLeaseCount });
  }

  /**
   * Waits until the lease owners of the hooks that this commit ended, or whose settings it changed, have acknowledged it:
   * no node then starts an attempt for an ended hook, or uses replaced settings. A failed query counts as not
   * acknowledged and is repeated, because the response must not be sent too early.
   */
  async #waitForAcks({ endedHooks, hookIdsWithChangedSettings, origin }: CommitEvents): Promise<void> {
    const { store, realClock } = this.#deps;
    if (origin !== 'here') return;
    const changedHookIds = [...endedHooks.keys(), ...hookIdsWithChangedSettings];
    for (const hookIds of splitIntoBatches(changedHookIds, HOOKS_PER_ACK_QUERY)) {
      const findHooks = () => findUnacknowledgedHooks(store.read, this.#nodeId, hookIds).catch(() => hookIds);
      while ((await findHooks()).length > 0) await sleep(realClock, ACK_POLL_INTERVAL_MS);
    }
  }
}
