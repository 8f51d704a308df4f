import { type Expression, type SqlBool, sql } from 'kysely';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { prepared } from '../../store/prepared-queries.ts';
import type { CommitEvents, Sessions, Store, Tx } from '../../store/store.ts';
import { version } from '../../version.ts';
import { claim, type HookQueueRow, queuesWithWork, type Work } from '../dispatcher/queries.ts';
import type { Lease, LeaseListeners, LeaseManager, LeaseOwner } from './leases.ts';

/** How often a node says that it lives, and looks at the others. */
const HEARTBEAT_INTERVAL_MS = 200;

/** How long after a beat was sent attempts may still begin, on this node's own monotonic clock. */
const LEASE_TTL_MS = 1_000;

/** No beat for this long, and its connection closed: it was killed. Longer than a beat of its own may count. */
const DEAD_AFTER_MS = LEASE_TTL_MS + 100;

/** No beat for this long although its connection is open: it is paused, or cut off. */
const UNRESPONSIVE_AFTER_MS = 8_000;

/** How often the database is asked for what no wake-up told of. */
const POLL_MS = 1_000;

/** How often a write that ended a hook asks whether the node that has its lane has let go. */
const ACK_POLL_INTERVAL_MS = 10;

/** So many lanes are let go of by one commit: whoever wants one of them waits until that is through. */
const RELEASE_BATCH_SIZE = 500;

/** Well below the number of values that a statement can carry. */
const HOOKS_PER_ACK_QUERY = 1_000;

/** What is known of another node: its beat, and since when it has stood still, by our own monotonic clock. */
type Other = { beat: number; since: number };

/** A node whose beat stands still, for how long. */
type Silent = { readonly node_id: number; readonly beat: number; readonly stillMs: number };

export type ClusterNodePorts = {
  readonly store: Store;
  readonly sessions: Sessions;
  /** Measures beats: a number that stands still is measured against the world, also where a test's time stands still. */
  readonly realClock: Clock;
  readonly log: Log;
  /** What it is for: shown to people who look into the table. */
  readonly role: string;
};

type NodeId = { readonly nodeId: number };

/** Another node, and how far it has counted itself up. */
type Seen = { readonly what: 'other'; readonly id: number; readonly value: number };
/** A lane of this node of which no news has told, or not yet. `value`: when it ended; null where it only changed. */
type Unacknowledged = { readonly what: 'lane'; readonly id: number; readonly value: number | null };
type Found = Seen | Unacknowledged | { readonly what: 'self'; readonly id: number; readonly value: null };

/**
 * Counts this node up and looks at everything else that it has to know: one statement, however little there is to do. That
 * a lane is somebody's is said for the index of those: no plan that is kept knows that a node is not 0.
 */
const heartbeatOnce = prepared((_, { nodeId }: NodeId) => {
  const beaten = sql`with beaten as (update nodes set heartbeat = heartbeat + 1 where node_id = ${nodeId} returning node_id)`;
  return sql<Found>`${beaten}
    select 'self' as what, node_id as id, null::int8 as value from beaten
    union all select 'other', node_id, heartbeat from nodes where node_id <> ${nodeId}
    union all select 'lane', hook_id, date_ended from hooks
      where lease_owner = ${nodeId} and lease_owner <> 0 and ${isUnacknowledged}`;
});

/**
 * One of several nodes on a database. Lanes are leased to nodes, and a lease lasts as long as its node's beat: every
 * node counts its own up, and may begin attempts only shortly after it has. One whose beat stands still for longer than
 * that is taken away by the others, and its lanes are free. No clock is compared with another: each measures by its own
 * how long a number has not changed.
 */
export class ClusterNode implements LeaseManager, LeaseOwner {
  readonly pollMs = POLL_MS;
  readonly isShared = true;
  readonly #ports: ClusterNodePorts;
  readonly #others = new Map<number, Other>();
  /** Nodes that are being taken away at this moment. */
  readonly #evicting = new Map<number, Promise<void>>();
  #listeners: LeaseListeners | undefined;
  #nodeId = 0;
  #freshUntil = 0;
  /** The same by the wall: a machine that was suspended wakes with a clock that has stood still. */
  #freshUntilWall = 0;
  #heartbeat: Promise<void> | undefined;
  #stopped = false;
  #leaving = false;
  #silent = false;
  #cancelHeartbeat: () => void = () => undefined;

  constructor(ports: ClusterNodePorts) {
    this.#ports = ports;
    // C13, C23, X8: whoever ends a hook, or changes what it is signed by, waits until the node that has its lane has heard.
    ports.store.onCommitted((news) => this.#waitForAcks(news));
  }

  async start(listeners: LeaseListeners): Promise<void> {
    this.#listeners = listeners;
    this.#ports.sessions.delivers = true;
    await this.joinAsApiOnly();
  }

  /** Shows itself to the other nodes, and takes nothing up: for a node that only answers callers. */
  async joinAsApiOnly(): Promise<void> {
    await this.#join();
    await this.#sendHeartbeat();
    this.#scheduleHeartbeat();
  }

  isLeaseValid(): boolean {
    const { realClock } = this.#ports;
    return !this.#leaving && realClock.monotonic() < this.#freshUntil && realClock.now() < this.#freshUntilWall;
  }

  get nodeId(): number {
    return this.#nodeId;
  }

  isFree(owner: Expression<number>): Expression<SqlBool> {
    return isFreeFor(this.#nodeId, owner);
  }

  async claim(hookIds: readonly number[]): Promise<HookQueueRow[]> {
    const nodeId = this.#nodeId;
    const rows = await this.#ports.store.write(({ queries }) => claim(queries, nodeId, hookIds, mayClaim(nodeId)));
    // Taken away meanwhile: then these are nobody's.
    return nodeId === this.#nodeId ? rows : [];
  }

  async release(queues: readonly Lease[]): Promise<void> {
    const nodeId = this.#nodeId;
    for (let from = 0; from < queues.length; from += RELEASE_BATCH_SIZE) {
      const some = queues.slice(from, from + RELEASE_BATCH_SIZE);
      const hookIds = some.map(({ hookId }) => hookId);
      const generations = some.map(({ generation }) => generation);
      await this.#ports.store.write(async (tx) => {
        if (this.#leaving) tx.news.addPending(hookIds);
        // Taken up anew by this node since: then it is held. An end raises its generation, too, and it is to be let go.
        await sql`update hooks set lease_owner = 0
          from unnest(${hookIds}::int8[], ${generations}::int8[]) as held (hook_id, generation)
          where hooks.hook_id = held.hook_id and hooks.lease_owner = ${nodeId}
            and (hooks.generation = held.generation or hooks.date_ended is not null)`.execute(tx.queries);
      });
    }
  }

  async acknowledge(hookIds: readonly number[]): Promise<void> {
    const nodeId = this.#nodeId;
    await this.#ports.store.write(({ queries }) =>
      queries
        .updateTable('hooks')
        .set({ unacknowledged: 0 })
        .where('hook_id', 'in', hookIds)
        .where('lease_owner', '=', nodeId)
        .execute(),
    );
  }

  findWork(after: number): Promise<Work> {
    return queuesWithWork(this.#ports.store.read, after, mayClaim(this.#nodeId));
  }

  stopClaiming(): void {
    this.#leaving = true;
    this.#ports.sessions.delivers = false;
  }

  /** Its lanes are free at once, and the others hear of those with work. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelHeartbeat();
    await Promise.all([this.#heartbeat, ...this.#evicting.values()]);
    const { store } = this.#ports;
    const nodeId = this.#nodeId;
    await store.write(async (tx) => {
      await this.#free(tx, nodeId);
      await tx.queries.deleteFrom('nodes').where('node_id', '=', nodeId).execute();
    });
  }

  async #join(): Promise<void> {
    const { store, sessions, role } = this.#ports;
    const { node_id } = await store.write(({ queries }) =>
      queries.insertInto('nodes').values({ version, role }).returning('node_id').executeTakeFirstOrThrow(),
    );
    this.#nodeId = node_id;
    await sessions.hold(node_id);
  }

  #scheduleHeartbeat(): void {
    if (this.#stopped) return;
    this.#cancelHeartbeat = this.#ports.realClock.after(HEARTBEAT_INTERVAL_MS, () => {
      this.#heartbeat = this.#sendHeartbeat()
        .catch((error: unknown) => this.#onHeartbeatFailed(error))
        .finally(() => this.#scheduleHeartbeat());
    });
  }

  /** Said once, however long it lasts. */
  #onHeartbeatFailed(error: unknown): void {
    if (!this.#silent) this.#ports.log.warn({ event: 'node.heartbeat_failed', err: error });
    this.#silent = true;
  }

  /** One beat, and a look at the others: one statement, and another one where somebody is silent. */
  async #sendHeartbeat(): Promise<void> {
    const { sessions, realClock } = this.#ports;
    const nodeId = this.#nodeId;
    const [sentAt, sentAtWall] = [realClock.monotonic(), realClock.now()];
    const found = await heartbeatOnce(sessions.queries, { nodeId });
    if (!found.some(({ what }) => what === 'self')) return this.#onEvicted();
    this.#silent = false;
    const wasFresh = this.isLeaseValid();
    this.#freshUntil = sentAt + LEASE_TTL_MS;
    this.#freshUntilWall = sentAtWall + LEASE_TTL_MS;
    this.#onCommit(found.filter((one) => one.what === 'lane'));
    if (!wasFresh) this.#listeners?.onLeaseRenewed();
    await this.#checkPeers(found.filter((one) => one.what === 'other'));
  }

  #onCommit(unacknowledged: readonly Unacknowledged[]): void {
    const ended = unacknowledged.filter((queue) => queue.value !== null);
    const changed = unacknowledged.filter((queue) => queue.value === null);
    if (ended.length > 0) this.#listeners?.onLeasesLost(ended.map(({ id }) => id));
    if (changed.length > 0) this.#listeners?.onChanged(changed.map(({ id }) => id));
  }

  /** The others thought it dead: it has nothing any more, and begins anew. */
  async #onEvicted(): Promise<void> {
    this.#ports.log.warn({ event: 'node.evicted', node_id: this.#nodeId });
    this.#freshUntil = 0;
    this.#listeners?.onLeasesLost(undefined);
    await this.#join();
  }

  async #checkPeers(others: readonly Seen[]): Promise<void> {
    const { sessions, realClock } = this.#ports;
    const now = realClock.monotonic();
    for (const known of this.#others.keys()) {
      if (!others.some(({ id }) => id === known)) this.#others.delete(known);
    }
    const silent: Silent[] = [];
    for (const { id: node_id, value: beat } of others) {
      const known = this.#others.get(node_id);
      if (known === undefined || known.beat !== beat) this.#others.set(node_id, { beat, since: now });
      else if (now - known.since > DEAD_AFTER_MS) silent.push({ node_id, beat, stillMs: now - known.since });
    }
    if (silent.length === 0) return;
    // Asked for here alone: to say it, the database looks through all of its locks.
    const held = await sessions.held();
    for (const one of silent) if (!held.has(one.node_id) || one.stillMs > UNRESPONSIVE_AFTER_MS) this.#evictLater(one);
  }

  /** Beside the beat, which must not wait: rows that the silent node has locked may take their time. */
  #evictLater(one: Silent): void {
    if (this.#evicting.has(one.node_id)) return;
    const taking = this.#evict(one)
      .catch((error: unknown) => this.#onHeartbeatFailed(error))
      .finally(() => this.#evicting.delete(one.node_id));
    this.#evicting.set(one.node_id, taking);
  }

  /** Its lanes are free for whoever comes first. */
  async #evict({ node_id: nodeId, beat, stillMs }: Silent): Promise<void> {
    const { store, log } = this.#ports;
    const freed = await store.write(async (tx) => {
      // Unless it has beaten since.
      const gone = await tx.queries
        .deleteFrom('nodes')
        .where('node_id', '=', nodeId)
        .where('heartbeat', '=', beat)
        .returning('node_id')
        .execute();
      return gone.length === 0 ? undefined : this.#free(tx, nodeId);
    });
    if (freed === undefined) return;
    this.#others.delete(nodeId);
    log.warn({ event: 'node.peer_evicted', node_id: nodeId, still_ms: Math.round(stillMs), queues: freed });
  }

  /** Frees the lanes of a node, and tells whoever delivers; answers how many. */
  async #free({ queries, news }: Tx, nodeId: number): Promise<number> {
    const freed = await queries
      .updateTable('hooks')
      .set({ lease_owner: 0 })
      .where('lease_owner', '=', nodeId)
      .returning(['hook_id', 'date_ended'])
      .execute();
    news.addPending(freed.filter((row) => row.date_ended === null).map((row) => row.hook_id));
    return freed.length;
  }

  /** Resolves when no other node can begin an attempt on hooks that have ended here, or as they were before a change. */
  async #waitForAcks({ ended, changed, from }: CommitEvents): Promise<void> {
    if (ended.size + changed.size === 0 || from !== 'here') return;
    for (const some of chunks([...ended.keys(), ...changed])) await this.#waitForAllAcks(some);
  }

  /** What cannot be asked now is asked again: it is committed, and its answer must not come too soon. */
  async #waitForAllAcks(hookIds: readonly number[]): Promise<void> {
    const { store, realClock } = this.#ports;
    const held = () =>
      store.read
        .selectFrom('hooks')
        .innerJoin('nodes', 'nodes.node_id', 'hooks.lease_owner')
        .select('hooks.hook_id')
        .where('hooks.hook_id', 'in', hookIds)
        .where(isUnacknowledged)
        .where('nodes.node_id', '<>', this.#nodeId)
        .execute()
        .catch(() => hookIds);
    while ((await held()).length > 0)
      await new Promise<void>((resolve) => realClock.after(ACK_POLL_INTERVAL_MS, resolve));
  }
}

function* chunks(hookIds: readonly number[]): Generator<number[]> {
  for (let begin = 0; begin < hookIds.length; begin += HOOKS_PER_ACK_QUERY)
    yield hookIds.slice(begin, begin + HOOKS_PER_ACK_QUERY);
}

/** Its node has lost the lane, or what it remembers of it, and may not know. */
const isUnacknowledged = sql<SqlBool>`(hooks.date_ended is not null or hooks.unacknowledged <> 0)`;

/** A lane is free where no node has it, or this one, or one that is gone. */
function mayClaim(nodeId: number): Expression<SqlBool> {
  return isFreeFor(nodeId, sql.ref<number>('hooks.lease_owner'));
}

function isFreeFor(nodeId: number, owner: Expression<number>): Expression<SqlBool> {
  return sql<SqlBool>`(${owner} in (0, ${nodeId})
    or not exists (select 1 from nodes where nodes.node_id = ${owner}))`;
}
