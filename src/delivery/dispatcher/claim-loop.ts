import { PollLoop } from '../../async/poll-loop.ts';
import { type Clock, sleep } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { NewPendingDelivery } from '../../store/store.ts';
import type { Lease, LeaseManager } from '../cluster/leases.ts';
import { HookQueue } from './hook-queue.ts';
import { HookSlots } from './hook-slots.ts';
import { type HookQueueRow, toPendingDeliveries } from './queries.ts';
import { computeMaxRetryDelayMs } from './retry-policy.ts';
import { WorkLoop } from './work-loop.ts';

/** Maximum number of hooks per claim query. */
const HOOKS_PER_CLAIM = 100;

/** Maximum number of hook queues in memory. Above it, idle queues are released. */
const MAX_QUEUES = 50_000;

/**
 * Time after which an idle hook queue is released, so that another node can lease it. Applies only with several nodes.
 */
const IDLE_QUEUE_TTL_MS = 10_000;

/** Delay before a failed release or acknowledgement is retried. */
export const LEASE_RETRY_DELAY_MS = 500;

type ClaimLoopDeps = {
  readonly leaseManager: LeaseManager;
  readonly clock: Clock;
  readonly log: Log;
  readonly retryDelaysMs: readonly [number, number];
  /** Called when a queue was leased. */
  readonly onLeased: (queue: HookQueue) => void;
  /** Called when a queue was discarded: its hook has ended, or its lease is lost or will be released. */
  readonly onDiscarded: (queue: HookQueue) => void;
  /** Called with leased queues that may be able to start an attempt. */
  readonly onReady: (queues: readonly HookQueue[]) => void;
  /** Returns the ids of hooks with results that are not committed yet: their leases must be kept. */
  readonly getUncommittedHookIds: () => ReadonlySet<number>;
  /** Called when a claim has finished. */
  readonly onClaimFinished: () => void;
};

/**
 * Finds hooks with pending work, and claims, keeps and releases the leases of their queues. `hook-slots.ts` shows the
 * states of a hook.
 */
export class ClaimLoop {
  readonly #deps: ClaimLoopDeps;
  readonly #slots = new HookSlots();
  readonly #loop: WorkLoop;
  readonly #pollLoop: PollLoop;
  /**
   * Hooks for which the acknowledgement of changed settings is being written. Their settings must not be reloaded until
   * the acknowledgement is committed.
   */
  readonly #acknowledgingHookIds = new Set<number>();
  /** Resolves when the current claim has finished, also if it failed. */
  #currentClaim: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(deps: ClaimLoopDeps) {
    this.#deps = deps;
    this.#loop = new WorkLoop(deps, {
      hasWork: () => this.#slots.hasUnclaimed && !this.#isStopping && deps.leaseManager.isLeaseValid(),
      runOnce: () => {
        const claimPromise = this.#claimBatch();
        this.#currentClaim = claimPromise.catch(() => undefined);
        return claimPromise;
      },
    });
    this.#pollLoop = new PollLoop({
      clock: deps.clock,
      intervalMs: deps.leaseManager.pollIntervalMs,
      runTurn: () => this.#poll(),
      onTurnFailed: (error) => deps.log.error({ event: 'dispatcher.poll_failed', err: error }),
    });
  }

  /** Number of leased hook queues. */
  get leasedCount(): number {
    return this.#slots.leasedCount;
  }

  /** Returns the queue of a hook, if this node leases it. */
  findQueue(hookId: number): HookQueue | undefined {
    return this.#slots.findQueue(hookId);
  }

  /** Whether the hook is leased by this node, or about to be. */
  isKnown(hookId: number): boolean {
    return this.#slots.isKnown(hookId);
  }

  /** Whether the acknowledgement of changed settings of this hook is being written. */
  isAcknowledging(hookId: number): boolean {
    return this.#acknowledgingHookIds.has(hookId);
  }

  /** Claims hooks again after the leases of this node were not valid. */
  wake(): void {
    this.#loop.wake();
  }

  /** Polls for hooks with pending work, now and from time to time. Resolves after the first poll. */
  start(): Promise<void> {
    return this.#pollLoop.startNow();
  }

  /**
   * Adds work to the queue of a hook, or claims the hook if it has no queue here.
   *
   * @param workType pending deliveries, or manual attempts
   * @param rows the new pending deliveries; undefined if they have to be read
   */
  wakeHook(hookId: number, workType: 'pending' | 'manual', rows?: readonly NewPendingDelivery[]): void {
    const queue = this.#slots.findQueue(hookId);
    if (queue === undefined) {
      if (rows === undefined) this.#slots.onWorkFound(hookId);
      else this.#slots.onDeliveriesCommitted(hookId);
      this.#loop.wake();
      return;
    }
    if (rows === undefined) queue.markUnread(workType);
    else queue.pushDeliveries(toPendingDeliveries(rows), this.#deps.clock.now());
    this.#deps.onReady([queue]);
  }

  /**
   * Discards the queues of hooks that ended or whose lease is lost, and releases their leases: no attempt starts, and
   * attempts that have sent nothing are aborted. A write that ends a hook returns once the leases are released (C13).
   * Only an ended hook is released without a queue, for which the generation 0 stands.
   */
  async discardHooks(hookIds: readonly number[]): Promise<void> {
    const leases = hookIds.map((hookId) => ({ hookId, generation: this.findQueue(hookId)?.generation ?? 0 }));
    for (const hookId of hookIds) this.#discard(hookId);
    await this.releaseLeases(leases);
  }

  /**
   * Discards the queues whose leases are lost.
   *
   * @param hookIds undefined if this node was evicted and has lost every lease
   */
  async discardLost(hookIds: readonly number[] | undefined): Promise<void> {
    if (hookIds === undefined) this.#slots.onEvicted();
    await this.discardHooks(hookIds ?? [...this.#slots.queues()].map(({ hookId }) => hookId));
  }

  /** Discards a queue whose result was fenced, and claims its hook again, whatever kind of work is pending. */
  discardFenced({ hookId, generation }: Lease): void {
    if (this.findQueue(hookId)?.generation !== generation) return;
    this.#discard(hookId);
    this.wakeHook(hookId, 'pending');
  }

  /** Discards the matching queues. Their leases have to be released. */
  discardMatching(matches: (queue: HookQueue) => boolean): HookQueue[] {
    const queues = [...this.#slots.queues()].filter(matches);
    for (const { hookId } of queues) this.#discard(hookId);
    return queues;
  }

  /**
   * Releases leases. Resolves with false if the write failed: the leases then stay with this node until it claims them
   * again or stops.
   */
  releaseLeases(leases: readonly Lease[]): Promise<boolean> {
    const { leaseManager, log } = this.#deps;
    return leaseManager.release(leases).then(
      () => true,
      (error: unknown) => {
        log.error({ event: 'dispatcher.release_failed', err: error });
        return false;
      },
    );
  }

  /**
   * Stops using the cached settings of these hooks (X8). The change is acknowledged first and the settings are reloaded
   * afterwards: in the other order, a change that commits in between would be acknowledged unseen.
   */
  invalidateSettings(hookIds: readonly number[]): void {
    for (const hookId of hookIds) this.findQueue(hookId)?.invalidateSettings();
    const unacknowledgedHookIds = hookIds.filter((hookId) => !this.#acknowledgingHookIds.has(hookId));
    if (unacknowledgedHookIds.length > 0) void this.#acknowledgeChanges(unacknowledgedHookIds);
  }

  /** Ends polling and claiming. Leases are kept. */
  stop(): void {
    this.#isStopping = true;
    void this.#pollLoop.stop();
    this.#deps.leaseManager.stopClaiming();
  }

  /** Resolves when the current poll and the current claim have finished, also if they failed. */
  async waitUntilStopped(): Promise<void> {
    await this.#pollLoop.stop();
    await this.#currentClaim;
  }

  /** The leased queues. */
  queues(): Iterable<HookQueue> {
    return this.#slots.queues();
  }

  /** Finds the hooks with pending work, also those whose commit event was lost. */
  async #poll(): Promise<void> {
    const { leaseManager, clock } = this.#deps;
    this.#slots.forgetForeign();
    for (let afterHookId: number | undefined = 0; afterHookId !== undefined && !this.#isStopping; ) {
      const { pendingHookIds, manualAttemptHookIds, nextAfterHookId } = await leaseManager.findPendingWork(afterHookId);
      for (const hookId of pendingHookIds) this.#wakePolledHook(hookId);
      for (const hookId of manualAttemptHookIds) this.wakeHook(hookId, 'manual');
      afterHookId = nextAfterHookId;
    }
    if (!leaseManager.isMultiNode) return;
    const releasableBefore = clock.now() - IDLE_QUEUE_TTL_MS;
    await this.#releaseIdle((queue) => queue.lastUsedAt < releasableBefore);
  }

  /** Claims the leases of up to HOOKS_PER_CLAIM hooks with pending work. */
  async #claimBatch(): Promise<void> {
    const { leaseManager, onClaimFinished } = this.#deps;
    const hookIds = this.#slots.beginClaim(HOOKS_PER_CLAIM);
    try {
      const rowsByHook = new Map((await leaseManager.claim(hookIds)).map((row) => [row.hookId, row]));
      for (const { hookId, areSettingsStale } of this.#slots.finishClaim(hookIds, new Set(rowsByHook.keys()))) {
        const row = rowsByHook.get(hookId);
        if (row !== undefined) this.#addQueue(row, areSettingsStale);
      }
    } finally {
      // After an error, the hooks that have got no queue are claimed again.
      this.#slots.onClaimFailed(hookIds);
    }
    onClaimFinished();
    if (this.#slots.leasedCount > MAX_QUEUES) await this.#releaseIdle(() => true);
  }

  /** Discards the idle queues that match and whose results are committed, and releases their leases. */
  async #releaseIdle(matches: (queue: HookQueue) => boolean): Promise<void> {
    const uncommittedHookIds = this.#deps.getUncommittedHookIds();
    const now = this.#deps.clock.now();
    const isReleasable = (queue: HookQueue) => queue.status(now) === 'idle' && !uncommittedHookIds.has(queue.hookId);
    await this.releaseLeases(this.discardMatching((queue) => isReleasable(queue) && matches(queue)));
  }

  #addQueue(row: HookQueueRow, areSettingsStale: boolean): void {
    const { clock, retryDelaysMs, onLeased } = this.#deps;
    const queue = new HookQueue(row, clock.now(), computeMaxRetryDelayMs(retryDelaysMs));
    if (areSettingsStale || this.#acknowledgingHookIds.has(queue.hookId)) queue.invalidateSettings();
    this.#slots.addLeased(queue);
    onLeased(queue);
  }

  /** Removes a hook from memory. Its queue starts no attempt any more, even if it is being prefetched or is ready. */
  #discard(hookId: number): void {
    const queue = this.#slots.remove(hookId);
    if (queue === undefined) return;
    queue.end();
    this.#deps.onDiscarded(queue);
  }

  #wakePolledHook(hookId: number): void {
    const queue = this.findQueue(hookId);
    if (queue === undefined) this.wakeHook(hookId, 'pending');
    else if (queue.onPolled(this.#deps.clock.now())) this.#deps.onReady([queue]);
  }

  /** Acknowledges changed settings, with retries. Afterwards the new settings may be read. */
  async #acknowledgeChanges(hookIds: readonly number[]): Promise<void> {
    const { leaseManager, clock, log, onReady } = this.#deps;
    for (const hookId of hookIds) this.#acknowledgingHookIds.add(hookId);
    for (let isAcknowledged = false; !isAcknowledged && !this.#isStopping; ) {
      isAcknowledged = await leaseManager.acknowledgeChanges(hookIds).then(
        () => true,
        (error: unknown) => {
          log.error({ event: 'dispatcher.acknowledge_failed', err: error });
          return false;
        },
      );
      if (!isAcknowledged) await sleep(clock, LEASE_RETRY_DELAY_MS);
    }
    for (const hookId of hookIds) {
      this.#acknowledgingHookIds.delete(hookId);
      this.#slots.onSettingsChanged(hookId);
    }
    onReady(hookIds.map((hookId) => this.findQueue(hookId)).filter((queue) => queue !== undefined));
  }
}
