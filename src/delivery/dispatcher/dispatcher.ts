import { type Clock, sleep } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Random } from '../../secrets.ts';
import type { CommitEvents, NewPendingDelivery, Store } from '../../store/store.ts';
import type { Lease, LeaseManager } from '../cluster/leases.ts';
import type { EnqueueHookAlerts } from '../outbox/end-hooks.ts';
import { buildResourceUrl, type DeliveryKind } from '../outbox/event-kinds.ts';
import type { SendAttempt } from '../transport/attempt.ts';
import { ConnectionPool, IdleConnectionLimit } from '../transport/connection-pool.ts';
import { startDeadline } from '../transport/deadline.ts';
import { createSignatureHeaders } from '../transport/signature.ts';
import type { AttemptOutcome } from './attempt-outcome.ts';
import type { Completion } from './complete-deliveries.ts';
import { Completer } from './completer.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';
import { HookQueue } from './hook-queue.ts';
import type { InFlightAttempt } from './in-flight-attempt.ts';
import { Prefetcher } from './prefetcher.ts';
import { type HookQueueRow, type PendingDelivery, toPendingDeliveries } from './queries.ts';
import { computeMaxRetryDelayMs, type Decision, decide, explainDecision, formatOutcome } from './retry-policy.ts';
import { StartRateLimiter } from './start-rate-limiter.ts';
import { firstMembersOf, WorkLoop } from './work-loop.ts';

/** Maximum number of attempts in flight, over all hook queues. At the limit, ready queues wait. */
const MAX_IN_FLIGHT = 2_000;

/** Concurrency limit of one account: if all its targets hang, the other accounts still get permits (C22). */
const MAX_IN_FLIGHT_PER_ACCOUNT = MAX_IN_FLIGHT / 4;

/**
 * Concurrency limit of all unproven targets (whose last outcome was not 200) together: if they all hang, proven targets
 * still get permits (C22).
 */
const MAX_UNPROVEN_IN_FLIGHT = MAX_IN_FLIGHT / 2;

/**
 * Maximum start rate of attempts to unproven targets: 1,000 a second, so that a burst does not delay proven targets
 * (C22).
 */
const UNPROVEN_START_RATE = { maxStarts: 20, intervalMs: 20 } as const;

/** Maximum number of hooks per claim query. */
const HOOKS_PER_CLAIM = 100;

/**
 * Maximum number of attempts started per event-loop iteration, so that API requests are served in between. Up to this
 * number, attempts start together, so that their results are committed in one batch.
 */
const QUEUES_PER_ITERATION = 32;

/** Maximum number of hook queues in memory. Above it, idle queues are released. */
const MAX_QUEUES = 50_000;

/**
 * Time after which an idle hook queue is released, so that another node can lease it. Applies only with several nodes.
 */
const IDLE_QUEUE_TTL_MS = 10_000;

/** Delay before a failed release or acknowledgement is retried. */
const LEASE_RETRY_DELAY_MS = 500;

export type DispatcherDeps = {
  readonly store: Store;
  readonly leaseManager: LeaseManager;
  readonly clock: Clock;
  readonly random: Random;
  readonly sendAttempt: SendAttempt;
  /** Enqueues alerts to the owners of failing and ended hooks (X10). */
  readonly enqueueAlerts: EnqueueHookAlerts;
  readonly log: Log;
  /** Returns the public base URL of this service, with which each `resource_url` begins (C10). */
  readonly baseUrl: () => string;
  /** The retry delays after the first and after the second failure of a hook, without jitter (C18). */
  readonly retryDelaysMs: readonly [number, number];
  /** Time limit of an attempt, from the DNS query to the head of the response (C21). */
  readonly attemptTimeoutMs: number;
  /** Concurrency limit of one host, over all accounts. */
  readonly maxAttemptsPerHost: number;
  /** Called after each attempt, for the metrics. `lateMs`: how much later than due the attempt began. */
  readonly onAttemptFinished: (finishedAttempt: {
    outcome: string;
    decision: Decision['is'];
    durationMs: number;
    lateMs: number;
  }) => void;
};

/**
 * Drains the outbox: sends every pending delivery to the target of its hook until it is delivered or the hook
 * has ended.
 *
 * 1. Wake: a commit event of this or another node, or the poll, names hooks with pending deliveries.
 * 2. Claim (`#claimLoop`): this node takes the lease of each hook and keeps a `HookQueue` for it in memory.
 * 3. Prefetch (`Prefetcher`): loads the next pending deliveries, the manual attempts and the signing secrets.
 * 4. Dispatch (`#dispatchLoop`): starts attempts, one per queue and iteration, within the concurrency limits.
 * 5. Decide (`retry-policy.ts`): the outcome becomes delivered, retry with backoff, or end of the hook.
 * 6. Complete (`Completer`): attempts, finalized deliveries and hook state are committed in batches. A result
 *    with a stale fencing token (`generation`) changes nothing but the log of attempts.
 *
 * Delivery is at least once: a crash between sending and completing sends again, with the same `Webhook-Id`. A
 * slow, dead or hostile target only uses the permits of its own queue (C22). No transaction and no lock is open
 * while an attempt is in flight. Graceful shutdown is `stop`.
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #queues = new Map<number, HookQueue>();
  /** Hooks with pending work whose lease is to be claimed. */
  readonly #unclaimedHookIds = new Set<number>();
  /** Hooks that were claimed without success since the last poll: another node has the lease, or the hook has ended. */
  readonly #claimMissedHookIds = new Set<number>();
  /** Queues that may be able to start an attempt, in round-robin order. */
  readonly #readyQueues = new Set<HookQueue>();
  readonly #limiter: ConcurrencyLimiter<HookQueue>;
  readonly #idleConnectionLimit: IdleConnectionLimit;
  /** Keep-alive connections to the target of each queue. */
  readonly #connectionPools = new WeakMap<HookQueue, ConnectionPool>();
  /** Number of evictions of this node. If it changes during a claim, the result of the claim is discarded. */
  #evictionCount = 0;
  /**
   * Ids of hooks that ended, or whose lease was lost, during the current claim query. The rows that the query returns
   * for these hooks are stale.
   */
  readonly #hooksEndedDuringClaim = new Set<number>();
  /**
   * Hooks for which the acknowledgement of a secret rotation is being written. Their secrets must not be reloaded until
   * the acknowledgement is committed.
   */
  readonly #acknowledgingHookIds = new Set<number>();
  /**
   * Ids of hooks whose secret rotation was acknowledged during the current claim query. The secrets that the query
   * returns for these hooks are stale.
   */
  readonly #secretsRotatedDuringClaim = new Set<number>();
  /**
   * Ids of hooks whose lease may have been released during the current claim query. If the query does not lease such a
   * hook, the hook is claimed again.
   */
  readonly #hooksReleasedDuringClaim = new Set<number>();
  readonly #inFlightAttempts = new Set<InFlightAttempt>();
  readonly #claimLoop: WorkLoop;
  /** Resolves when the current claim has finished, also if it failed. */
  #currentClaim: Promise<void> = Promise.resolve();
  readonly #prefetcher: Prefetcher;
  readonly #dispatchLoop: WorkLoop;
  readonly #completer: Completer;
  #isStopping = false;
  #cancelPoll: () => void = () => undefined;
  /** Wakes `#drain` during shutdown; called when an attempt ended, a result was committed or a claim finished. */
  #wakeDrain: () => void = () => undefined;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#idleConnectionLimit = new IdleConnectionLimit(deps.clock);
    this.#completer = new Completer({
      ...deps,
      onBatchCommitted: (completions, fencedLeases) => this.#onBatchCommitted(completions, fencedLeases),
    });
    const mayContinue = () => !this.#isStopping && deps.leaseManager.isLeaseValid();
    this.#claimLoop = new WorkLoop(deps, {
      hasWork: () => this.#unclaimedHookIds.size > 0 && mayContinue(),
      runOnce: () => {
        const claimPromise = this.#claimBatch();
        this.#currentClaim = claimPromise.catch(() => undefined);
        return claimPromise;
      },
    });
    this.#prefetcher = new Prefetcher({
      ...deps,
      mayPrefetch: mayContinue,
      mayReadSecrets: ({ hookId }) => !this.#acknowledgingHookIds.has(hookId),
      onPrefetched: (queue) => this.#schedule([queue]),
    });
    this.#dispatchLoop = new WorkLoop(deps, {
      hasWork: () => this.#readyQueues.size > 0 && this.#inFlightAttempts.size < MAX_IN_FLIGHT && mayContinue(),
      runOnce: () => this.#dispatchBatch(),
    });
    const { maxAttemptsPerHost: maxPerHost } = deps;
    const startRateLimiter = new StartRateLimiter({
      clock: deps.clock,
      ...UNPROVEN_START_RATE,
      onPermitsRenewed: () => this.#schedule(this.#limiter.serveWaitingQueues()),
    });
    this.#limiter = new ConcurrencyLimiter(
      { maxPerAccount: MAX_IN_FLIGHT_PER_ACCOUNT, maxPerHost, maxUnproven: MAX_UNPROVEN_IN_FLIGHT },
      startRateLimiter,
    );
  }

  /**
   * Starts claiming and sending. The first poll finds the deliveries that were pending at the last stop or crash (C20).
   */
  async start(): Promise<void> {
    const { store, leaseManager } = this.#deps;
    store.onCommitted((events) => this.#onCommit(events));
    await leaseManager.start({
      onLeasesValidAgain: () => {
        for (const loop of [this.#claimLoop, this.#prefetcher, this.#dispatchLoop]) loop.wake();
      },
      onLeasesLost: (hookIds) => void this.#onLeasesLost(hookIds),
      onSecretsChanged: (hookIds) => this.#invalidateSecrets(hookIds),
    });
    await this.#poll();
  }

  /**
   * Graceful shutdown: starts no attempt, lets attempts in flight finish for `graceMs`, aborts the rest, and
   * commits all results. Leases are released as soon as their queue is drained.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    if (graceMs === 0) this.#completer.stopRetrying();
    this.#cancelPoll();
    const cancelGraceDeadline = startDeadline(this.#deps.clock, graceMs, () => {
      this.#completer.stopRetrying();
      for (const attempt of this.#inFlightAttempts) attempt.abort();
    });
    this.#deps.leaseManager.stopClaiming();
    await this.#drain();
    await this.#currentClaim;
    for (const queue of this.#queues.values()) {
      queue.cancelRetryTimer();
      this.#connectionPools.get(queue)?.end();
    }
    await this.#completer.waitUntilCommitted();
    cancelGraceDeadline();
    await this.#deps.leaseManager.stop();
  }

  /** Number of attempts in flight, for the metrics. */
  get inFlightCount(): number {
    return this.#inFlightAttempts.size;
  }

  /** Number of leased hook queues, for the metrics. */
  get leasedQueueCount(): number {
    return this.#queues.size;
  }

  async #poll(): Promise<void> {
    const { leaseManager, clock, log } = this.#deps;
    this.#claimMissedHookIds.clear();
    try {
      for (let afterHookId: number | undefined = 0; afterHookId !== undefined && !this.#isStopping; ) {
        const { pendingHookIds, manualAttemptHookIds, nextAfterHookId } =
          await leaseManager.findPendingWork(afterHookId);
        for (const hookId of pendingHookIds) this.#wakePolledHook(hookId);
        for (const hookId of manualAttemptHookIds) this.#wake(hookId, 'manual');
        afterHookId = nextAfterHookId;
      }
      if (leaseManager.isMultiNode)
        await this.#discardAndReleaseMatchingQueues(
          (queue) => queue.isIdle && clock.now() - queue.lastUsedAt > IDLE_QUEUE_TTL_MS,
        );
    } catch (error) {
      log.error({ event: 'dispatcher.poll_failed', err: error });
    }
    if (!this.#isStopping) this.#cancelPoll = clock.after(leaseManager.pollIntervalMs, () => void this.#poll());
  }

  /**
   * Wakes a hook that the poll found. A queue that is active needs no wake-up, because it prefetches its further
   * deliveries itself. If an active queue could start an attempt but nothing would schedule it, it is scheduled here.
   */
  #wakePolledHook(hookId: number): void {
    const queue = this.#queues.get(hookId);
    if (queue?.isActive !== true) this.#wake(hookId, 'pending');
    else if (queue.needsScheduling(this.#deps.clock.now())) this.#schedule([queue]);
  }

  /**
   * Releases the lease of each queue as soon as its results are committed, so that other nodes can claim it
   * immediately. A hanging attempt only delays its own queue. Resolves when nothing is in flight.
   */
  async #drain(): Promise<void> {
    let leases: Lease[] = [];
    for (;;) {
      const progress = new Promise<void>((resolve) => {
        this.#wakeDrain = resolve;
      });
      const { uncommittedHookIds } = this.#completer;
      leases.push(
        ...this.#discardMatchingQueues(
          (queue) => !queue.hasUnfinishedAttempts && !uncommittedHookIds.has(queue.hookId),
        ),
      );
      const areReleased = await this.#releaseLeases(leases);
      if (areReleased) leases = [];
      if (this.#inFlightAttempts.size === 0) return;
      await (areReleased ? progress : sleep(this.#deps.clock, LEASE_RETRY_DELAY_MS));
    }
  }

  /** Discards the matching queues and releases their leases. */
  async #discardAndReleaseMatchingQueues(matches: (queue: HookQueue) => boolean): Promise<void> {
    await this.#releaseLeases(this.#discardMatchingQueues(matches));
  }

  #discardMatchingQueues(matches: (queue: HookQueue) => boolean): HookQueue[] {
    const queues = [...this.#queues.values()].filter(matches);
    for (const queue of queues) this.#discard(queue);
    return queues;
  }

  /**
   * Releases leases. Resolves with false if the write failed: the leases then stay with this node until it claims them
   * again or stops.
   */
  #releaseLeases(leases: readonly Lease[]): Promise<boolean> {
    const { leaseManager, log } = this.#deps;
    return leaseManager.release(leases).then(
      () => true,
      (error: unknown) => {
        log.error({ event: 'dispatcher.release_failed', err: error });
        return false;
      },
    );
  }

  /** Removes a queue from memory. It starts no attempt any more, even if it is being prefetched or is ready. */
  #discard(queue: HookQueue): void {
    queue.end();
    this.#connectionPools.get(queue)?.end();
    this.#queues.delete(queue.hookId);
  }

  /**
   * Discards the queues of hooks that ended or whose lease is lost, and releases their leases: no attempt starts, and
   * attempts that have sent nothing are aborted.
   */
  async #discardQueuesOfHooks(hookIds: readonly number[]): Promise<void> {
    for (const hookId of hookIds) this.#hooksEndedDuringClaim.add(hookId);
    const leases = hookIds.map((hookId) => ({ hookId, generation: this.#queues.get(hookId)?.generation ?? 0 }));
    for (const hookId of hookIds) {
      const queue = this.#queues.get(hookId);
      if (queue !== undefined) this.#discard(queue);
      this.#unclaimedHookIds.delete(hookId);
    }
    await this.#releaseLeases(leases);
  }

  /**
   * Discards the queues whose leases are lost.
   *
   * @param hookIds undefined if this node was evicted and has lost every lease
   */
  #onLeasesLost(hookIds: readonly number[] | undefined): Promise<void> {
    if (hookIds === undefined) this.#evictionCount += 1;
    return this.#discardQueuesOfHooks(hookIds ?? [...this.#queues.keys()]);
  }

  /**
   * Stops using the cached secrets of these hooks (X8). The rotation is acknowledged first and the secrets are reloaded
   * afterwards: in the other order, a rotation that commits in between would be acknowledged unseen.
   */
  #invalidateSecrets(hookIds: readonly number[]): void {
    for (const hookId of hookIds) this.#queues.get(hookId)?.invalidateSecrets();
    const unacknowledgedHookIds = hookIds.filter((hookId) => !this.#acknowledgingHookIds.has(hookId));
    if (unacknowledgedHookIds.length > 0) void this.#acknowledgeSecretRotations(unacknowledgedHookIds);
  }

  /** Acknowledges secret rotations, with retries. Afterwards the new secrets may be read. */
  async #acknowledgeSecretRotations(hookIds: readonly number[]): Promise<void> {
    const { leaseManager, clock, log } = this.#deps;
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
      this.#secretsRotatedDuringClaim.add(hookId);
    }
    this.#schedule(hookIds.map((hookId) => this.#queues.get(hookId)).filter((queue) => queue !== undefined));
  }

  /** Claims a hook again after its queue was discarded, whatever kind of work is pending. */
  #reclaim(hookId: number): void {
    this.#wake(hookId, 'pending');
    this.#wake(hookId, 'manual');
  }

  /**
   * Handles a commit event. The response to a write that ended a hook is sent after this resolves, so no attempt starts
   * after that response (C13). A queue that the retry policy ended stays in `#queues` until its end is committed, so
   * that a wake-up does not claim it again.
   */
  #onCommit(events: CommitEvents): Promise<void> | undefined {
    const endedHookIds = [...events.endedHooks.keys()];
    for (const hookId of endedHookIds) this.#hooksEndedDuringClaim.add(hookId);
    const isKnownHook = (hookId: number) => this.#queues.has(hookId) || this.#unclaimedHookIds.has(hookId);
    this.#invalidateSecrets([...events.hookIdsWithChangedSecrets].filter(isKnownHook));
    const knownEndedHookIds = endedHookIds.filter(isKnownHook);
    const releasePromise = knownEndedHookIds.length > 0 ? this.#discardQueuesOfHooks(knownEndedHookIds) : undefined;
    // Another delivering node claims the hooks of its own commits; they concern this node only where it has the lease.
    // A hook that is being claimed here reads its deliveries after the claim, so it needs no wake-up.
    const concernsThisNode = (hookId: number) => events.origin !== 'deliverer' || this.#queues.has(hookId);
    for (const [hookId, rows] of events.pendingDeliveriesByHook)
      if (concernsThisNode(hookId)) this.#wake(hookId, 'pending', rows);
    for (const hookId of events.hookIdsWithManualAttempts) if (concernsThisNode(hookId)) this.#wake(hookId, 'manual');
    return releasePromise;
  }

  /**
   * Adds work to the queue of a hook, or claims the hook if it has no queue here.
   *
   * @param rows the new pending deliveries; undefined if they have to be read
   * @param workType pending deliveries, or manual attempts
   */
  #wake(hookId: number, workType: 'pending' | 'manual', rows?: readonly NewPendingDelivery[]): void {
    const queue = this.#queues.get(hookId);
    if (queue === undefined) {
      // The node that leases the hook gets the same commit event. A claim per commit would cost more than a delivery.
      if (rows !== undefined && this.#claimMissedHookIds.has(hookId)) return;
      if (rows === undefined) this.#hooksReleasedDuringClaim.add(hookId);
      this.#unclaimedHookIds.add(hookId);
      this.#claimLoop.wake();
      return;
    }
    if (workType === 'manual') queue.hasUnreadManualAttempts = true;
    else if (rows === undefined) queue.hasUnreadPendingDeliveries = true;
    else queue.pushDeliveries(toPendingDeliveries(rows), this.#deps.clock.now());
    this.#schedule([queue]);
  }

  /** Adds queues that may be able to start an attempt to the dispatch loop. */
  #schedule(queues: readonly HookQueue[]): void {
    for (const queue of queues) this.#readyQueues.add(queue);
    this.#dispatchLoop.wake();
  }

  /** Claims the leases of up to HOOKS_PER_CLAIM hooks with pending work. */
  async #claimBatch(): Promise<void> {
    const hookIds = firstMembersOf(this.#unclaimedHookIds, HOOKS_PER_CLAIM);
    const evictionCount = this.#evictionCount;
    this.#hooksEndedDuringClaim.clear();
    this.#secretsRotatedDuringClaim.clear();
    this.#hooksReleasedDuringClaim.clear();
    const rows = await this.#deps.leaseManager.claim(hookIds);
    if (evictionCount !== this.#evictionCount) return;
    const rowsByHook = new Map(rows.map((row) => [row.hookId, row]));
    for (const hookId of hookIds) {
      // An ended hook is not added. If it was restored since, it is in `#unclaimedHookIds` again, and the next batch
      // claims it.
      if (this.#hooksEndedDuringClaim.has(hookId)) continue;
      const row = rowsByHook.get(hookId);
      this.#unclaimedHookIds.delete(hookId);
      if (row !== undefined) this.#addQueue(row);
      // Add the hook again, at the end of the set, so that all other hooks are claimed first.
      else if (this.#hooksReleasedDuringClaim.has(hookId)) this.#unclaimedHookIds.add(hookId);
      else this.#claimMissedHookIds.add(hookId);
    }
    this.#wakeDrain();
    if (this.#queues.size > MAX_QUEUES) await this.#discardAndReleaseMatchingQueues((queue) => queue.isIdle);
  }

  #addQueue(row: HookQueueRow): void {
    const queue = new HookQueue(row, this.#deps.clock.now(), computeMaxRetryDelayMs(this.#deps.retryDelaysMs));
    if (this.#secretsRotatedDuringClaim.has(queue.hookId) || this.#acknowledgingHookIds.has(queue.hookId))
      queue.invalidateSecrets();
    this.#queues.set(queue.hookId, queue);
    this.#connectionPools.set(queue, new ConnectionPool(this.#idleConnectionLimit));
    this.#scheduleWhenDue(queue, this.#deps.clock.now());
    this.#schedule([queue]);
  }

  /** Sets the retry timer of a queue, which schedules the queue when its next attempt is due. */
  #scheduleWhenDue(queue: HookQueue, now: number): void {
    const waitMs = queue.computeNextWaitMs(now);
    if (waitMs <= 0) return;
    queue.replaceRetryTimer(this.#deps.clock.after(waitMs, () => this.#schedule([queue])));
  }

  /** Called when no attempt of a queue can start now. The retry timer or the next event schedules the queue again. */
  #postponeQueue(queue: HookQueue, now: number): void {
    // A timer may fire a little early, so a new timer is set for the remaining time.
    if (!queue.hasEnded) this.#scheduleWhenDue(queue, now);
    this.#scheduleWaitingQueues(queue);
  }

  /** Passes the permits that this queue released or does not need to the queues that wait for one. */
  #scheduleWaitingQueues(queue: HookQueue): void {
    for (const nextQueue of this.#limiter.serveWaitingQueues(queue)) this.#readyQueues.add(nextQueue);
  }

  /** Starts at most one attempt on each of up to QUEUES_PER_ITERATION queues. */
  async #dispatchBatch(): Promise<void> {
    const { clock, leaseManager } = this.#deps;
    const queues = firstMembersOf(this.#readyQueues, QUEUES_PER_ITERATION);
    for (const queue of queues) {
      if (this.#inFlightAttempts.size >= MAX_IN_FLIGHT || !leaseManager.isLeaseValid()) break;
      // Round-robin: `#tryDispatch` adds the queue again at the end, so that all queues are served if permits are few.
      this.#readyQueues.delete(queue);
      // A queue that is being prefetched is scheduled again when the prefetch is done.
      if (!queue.isPrefetching) this.#tryDispatch(queue, clock.now());
    }
    if (queues.length === QUEUES_PER_ITERATION) await new Promise<void>((resolve) => setImmediate(resolve));
  }

  /**
   * Starts the next attempt of a queue if possible; otherwise the queue is prefetched, waits for a permit, or waits
   * until it is due.
   *
   * @param now the same time for all checks: with two readings of the clock, a retry that becomes due in between would
   *   neither start nor get a timer
   */
  #tryDispatch(queue: HookQueue, now: number): void {
    if (queue.needsPrefetch(now) && !this.#acknowledgingHookIds.has(queue.hookId)) {
      this.#prefetcher.add(queue);
      return;
    }
    if (!this.#limiter.admitOrEnqueue(queue)) return;
    const nextDelivery = queue.takeNextManualAttempt(now) ?? queue.takeNextPendingDelivery(now);
    if (nextDelivery === undefined) this.#postponeQueue(queue, now);
    else {
      this.#startAttempt(queue, nextDelivery);
      this.#readyQueues.add(queue);
    }
  }

  #startAttempt(queue: HookQueue, pendingDelivery: PendingDelivery): void {
    if (queue.hasEnded) return;
    const { leaseManager, clock, sendAttempt, baseUrl, attemptTimeoutMs } = this.#deps;
    const attempt = queue.beginAttempt(pendingDelivery, clock.now());
    this.#inFlightAttempts.add(attempt);
    const permit = this.#limiter.acquire(queue);
    const deliveryId = String(pendingDelivery.deliveryId);
    const body = JSON.stringify({
      resource_url: buildResourceUrl(baseUrl(), pendingDelivery.kind, pendingDelivery.recordId),
    });
    const attemptRequest = {
      target: queue.target,
      body,
      deliveryId,
      signatureHeaders: createSignatureHeaders(queue.secrets, { webhookId: deliveryId, body, sentAt: attempt.beganAt }),
      timeoutMs: attemptTimeoutMs,
      signal: attempt.signal,
      onBeforeSend: () => {
        // The process may have been paused since the attempt began, and the lease may have expired.
        if (leaseManager.isLeaseValid()) attempt.markSending();
        else attempt.abort();
      },
      onNotSent: () => attempt.markNotSent(),
      connectionPool: this.#connectionPools.get(queue),
    };
    sendAttempt(attemptRequest)
      .catch((error: unknown): AttemptOutcome => {
        this.#deps.log.error({ event: 'attempt.aborted', err: error, hook_id: queue.hookId });
        return { kind: 'local_error', code: 'broken', durationMs: 0 };
      })
      .then((outcome) => {
        this.#limiter.release(permit);
        this.#finishAttempt(queue, attempt, outcome);
      })
      .catch((error: unknown) =>
        this.#deps.log.error({ event: 'dispatcher.finish_failed', err: error, hook_id: queue.hookId }),
      );
  }

  #finishAttempt(queue: HookQueue, attempt: InFlightAttempt, outcome: AttemptOutcome): void {
    this.#inFlightAttempts.delete(attempt);
    this.#scheduleWaitingQueues(queue);
    const decision = decide({
      outcome,
      failures: queue.failures,
      isPartOfFailure: queue.isPartOfFailure(attempt),
      isManual: attempt.pendingDelivery.manualAttemptId !== null,
      localErrorCount: queue.countLocalErrorsBefore(attempt),
      retryDelaysMs: this.#deps.retryDelaysMs,
      jitterFraction: this.#deps.random.fraction(),
    });
    const now = this.#deps.clock.now();
    const completion = queue.finishAttempt({
      attempt,
      decision,
      outcome: formatOutcome(outcome),
      reason: explainDecision(decision),
      durationMs: outcome.durationMs,
      outcomeAt: now,
    });
    this.#reportAttempt(queue, attempt, outcome, decision);
    // An attempt that was aborted by shutdown or by the end of the hook is not recorded, and its delivery stays
    // pending.
    if (outcome.kind !== 'local_error' || outcome.code !== 'stopped') this.#completer.add(completion);
    if (queue.hasEnded) this.#connectionPools.get(queue)?.end();
    else {
      this.#scheduleWhenDue(queue, now);
      this.#readyQueues.add(queue);
    }
    this.#dispatchLoop.wake();
    this.#wakeDrain();
  }

  #reportAttempt(queue: HookQueue, attempt: InFlightAttempt, outcome: AttemptOutcome, decision: Decision): void {
    const formattedOutcome = formatOutcome(outcome);
    const lateMs = Math.max(0, Math.round(attempt.beganAt - attempt.dueAt));
    this.#deps.onAttemptFinished({
      outcome: formattedOutcome,
      decision: decision.is,
      durationMs: outcome.durationMs,
      lateMs,
    });
    this.#deps.log.info({
      event: 'delivery.attempted',
      account_id: queue.accountId,
      hook_id: queue.hookId,
      delivery_id: attempt.pendingDelivery.deliveryId,
      kind: attempt.pendingDelivery.kind satisfies DeliveryKind,
      target: queue.maskedTarget,
      outcome: formattedOutcome,
      result: decision.is,
      failures: queue.failures,
      ms: Math.round(outcome.durationMs),
      ...('waitMs' in decision ? { wait_ms: decision.waitMs } : {}),
      ...('note' in outcome && outcome.note !== undefined ? { note: outcome.note } : {}),
    });
  }

  /** Called when a batch of completions was committed. `fencedLeases`: leases whose generation was stale. */
  #onBatchCommitted(completions: readonly Completion[], fencedLeases: readonly Lease[]): void {
    for (const completion of completions) this.#onResultCommitted(completion);
    for (const lease of fencedLeases) this.#onResultFenced(lease);
    this.#dispatchLoop.wake();
    this.#wakeDrain();
  }

  #onResultCommitted({ hookId, pendingDelivery }: Completion): void {
    const queue = this.#queues.get(hookId);
    if (queue === undefined) return;
    // A saturated queue waits for commits before it starts more attempts.
    if (queue.isSaturated) this.#readyQueues.add(queue);
    queue.onResultCommitted(pendingDelivery.deliveryId);
  }

  /**
   * Called when a result was fenced, because the generation of the hook has changed since the claim. Discards the queue
   * and claims the hook again.
   */
  #onResultFenced({ hookId, generation }: Lease): void {
    const queue = this.#queues.get(hookId);
    if (queue === undefined || queue.generation !== generation) return;
    this.#discard(queue);
    this.#reclaim(hookId);
  }
}
