import { type Clock, sleep, startDeadline } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Random } from '../../secrets.ts';
import type { CommitEvents, Store } from '../../store/store.ts';
import type { Lease, LeaseManager } from '../cluster/leases.ts';
import type { EnqueueHookAlerts } from '../outbox/end-hooks.ts';
import type { SendAttempt } from '../transport/attempt.ts';
import { AttemptRunner, type AttemptRunnerDeps } from './attempt-runner.ts';
import { ClaimLoop, LEASE_RETRY_DELAY_MS } from './claim-loop.ts';
import { Completer } from './completer.ts';
import { DispatchLoop } from './dispatch-loop.ts';
import type { HookQueue } from './hook-queue.ts';
import type { Completion } from './in-flight-attempt.ts';
import { Prefetcher } from './prefetcher.ts';

type DispatcherDeps = Pick<
  AttemptRunnerDeps,
  'baseUrl' | 'retryDelaysMs' | 'attemptTimeoutMs' | 'onAttemptFinished'
> & {
  readonly store: Store;
  readonly leaseManager: LeaseManager;
  readonly clock: Clock;
  readonly random: Random;
  readonly sendAttempt: SendAttempt;
  /** Enqueues alerts to the owners of failing and ended hooks (X10). */
  readonly enqueueAlerts: EnqueueHookAlerts;
  readonly log: Log;
  /** Concurrency limit of one host, over all accounts. */
  readonly maxAttemptsPerHost: number;
};

/**
 * Drains the outbox: sends every pending delivery to the target of its hook until it is delivered or the hook
 * has ended.
 *
 * 1. Wake: a commit event of this or another node, or the poll, names hooks with pending deliveries.
 * 2. Claim (`ClaimLoop`): this node takes the lease of each hook and keeps a `HookQueue` for it in memory.
 * 3. Prefetch (`Prefetcher`): loads the next pending deliveries, the manual attempts and changed settings.
 * 4. Dispatch (`DispatchLoop`): starts attempts, one per queue and iteration, within the concurrency limits.
 * 5. Send and decide (`AttemptRunner`, `retry-policy.ts`): the outcome becomes delivered, retry with backoff, or end of
 *    the hook.
 * 6. Complete (`Completer`): attempts, finalized deliveries and hook state are committed in batches. A result
 *    with a stale fencing token (`generation`) is recorded and does not change the hook; if it is a 200, its delivery is
 *    still finalized, so that the new lease owner does not send it again.
 *
 * Delivery is at least once: a crash between sending and completing sends again, with the same `Webhook-Id`. A
 * slow, dead or hostile target can use only a part of the permits for attempts (C22). No transaction and no lock is open
 * while an attempt is in flight. Graceful shutdown is `stop`.
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #claimLoop: ClaimLoop;
  readonly #prefetcher: Prefetcher;
  readonly #dispatchLoop: DispatchLoop;
  readonly #attemptRunner: AttemptRunner;
  readonly #completer: Completer;
  #isStopping = false;
  /** Wakes `#drain` during shutdown; called when an attempt ended, a result was committed or a claim finished. */
  #wakeDrain: () => void = () => undefined;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    const { leaseManager } = deps;
    const mayContinue = () => !this.#isStopping && leaseManager.isLeaseValid();
    const mayReadSettings = ({ hookId }: HookQueue) => !this.#claimLoop.isAcknowledging(hookId);
    this.#claimLoop = new ClaimLoop({
      ...deps,
      onLeased: (queue) => {
        this.#dispatchLoop.scheduleWhenDue(queue, deps.clock.now());
        this.#dispatchLoop.schedule([queue]);
      },
      onDiscarded: (queue) => this.#attemptRunner.closeConnections(queue),
      onReady: (queues) => this.#dispatchLoop.schedule(queues),
      getUncommittedHookIds: () => this.#completer.uncommittedHookIds,
      onClaimFinished: () => this.#wakeDrain(),
    });
    this.#prefetcher = new Prefetcher({
      ...deps,
      mayPrefetch: mayContinue,
      mayReadSettings,
      onPrefetched: (queue) => {
        if (queue.isFenced) this.#claimLoop.discardFenced(queue);
        else this.#dispatchLoop.schedule([queue]);
      },
    });
    this.#completer = new Completer({
      ...deps,
      onBatchCommitted: (completions, fencedLeases) => this.#onBatchCommitted(completions, fencedLeases),
    });
    this.#attemptRunner = new AttemptRunner({
      ...deps,
      completer: this.#completer,
      onFinished: (queue, now) => {
        if (queue.hasEnded) this.#dispatchLoop.wake();
        else {
          this.#dispatchLoop.scheduleWhenDue(queue, now);
          this.#dispatchLoop.schedule([queue]);
        }
        this.#wakeDrain();
      },
    });
    this.#dispatchLoop = new DispatchLoop({
      ...deps,
      mayStart: mayContinue,
      mayPrefetch: mayReadSettings,
      prefetcher: this.#prefetcher,
      attemptRunner: this.#attemptRunner,
    });
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
      onLeasesLost: (hookIds) => void this.#claimLoop.discardLost(hookIds),
      onSettingsChanged: (hookIds) => this.#claimLoop.invalidateSettings(hookIds),
    });
    await this.#claimLoop.start();
  }

  /**
   * Graceful shutdown: starts no attempt, lets attempts in flight finish for `graceMs`, aborts the rest, and
   * commits all results. Leases are released as soon as their queue is drained.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    if (graceMs === 0) this.#completer.stopRetrying();
    const cancelGraceDeadline = startDeadline(this.#deps.clock, graceMs, () => {
      this.#completer.stopRetrying();
      this.#attemptRunner.abortAll();
    });
    this.#claimLoop.stop();
    await this.#drain();
    await this.#claimLoop.waitUntilStopped();
    for (const queue of this.#claimLoop.queues()) {
      queue.cancelRetryTimer();
      this.#attemptRunner.closeConnections(queue);
    }
    await this.#completer.waitUntilCommitted();
    cancelGraceDeadline();
    await this.#deps.leaseManager.stop();
  }

  /** Number of attempts in flight, for the metrics. */
  get inFlightCount(): number {
    return this.#attemptRunner.inFlightCount;
  }

  /** Number of leased hook queues, for the metrics. */
  get leasedQueueCount(): number {
    return this.#claimLoop.leasedCount;
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
      const isDrained = (queue: HookQueue) => !queue.hasUnfinishedAttempts && !uncommittedHookIds.has(queue.hookId);
      leases.push(...this.#claimLoop.discardMatching(isDrained));
      const areReleased = await this.#claimLoop.releaseLeases(leases);
      if (areReleased) leases = [];
      if (this.#attemptRunner.inFlightCount === 0) return;
      await (areReleased ? progress : sleep(this.#deps.clock, LEASE_RETRY_DELAY_MS));
    }
  }

  /**
   * Handles a commit event. The response to a write that ended a hook is sent after this resolves, so no attempt starts
   * after that response (C13). A queue that the retry policy ended stays leased until its end is committed, so that a
   * wake-up does not claim it again.
   */
  #onCommit(events: CommitEvents): Promise<void> | undefined {
    const claimLoop = this.#claimLoop;
    const isKnownHook = (hookId: number) => claimLoop.isKnown(hookId);
    claimLoop.invalidateSettings([...events.hookIdsWithChangedSettings].filter(isKnownHook));
    const endedHookIds = [...events.endedHooks.keys()].filter(isKnownHook);
    const releasePromise = endedHookIds.length > 0 ? claimLoop.discardHooks(endedHookIds) : undefined;
    // Another delivering node claims the hooks of its own commits; they concern this node only where it has the lease.
    const concernsThisNode = (hookId: number) =>
      events.origin !== 'deliverer' || claimLoop.findQueue(hookId) !== undefined;
    for (const [hookId, rows] of events.pendingDeliveriesByHook)
      if (concernsThisNode(hookId)) claimLoop.wakeHook(hookId, 'pending', rows);
    for (const hookId of events.hookIdsWithManualAttempts)
      if (concernsThisNode(hookId)) claimLoop.wakeHook(hookId, 'manual');
    return releasePromise;
  }

  /** Called when a batch of completions was committed. `fencedLeases`: leases whose generation was stale. */
  #onBatchCommitted(completions: readonly Completion[], fencedLeases: readonly Lease[]): void {
    for (const completion of completions) {
      const queue = this.#claimLoop.findQueue(completion.hookId);
      if (queue === undefined) continue;
      if (queue.onResultCommitted(completion)) this.#dispatchLoop.schedule([queue]);
    }
    for (const lease of fencedLeases) this.#claimLoop.discardFenced(lease);
    this.#dispatchLoop.wake();
    this.#wakeDrain();
  }
}
