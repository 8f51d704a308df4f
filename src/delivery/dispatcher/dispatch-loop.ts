import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { AttemptRunner } from './attempt-runner.ts';
import { ConcurrencyLimiter, StartRateLimiter } from './concurrency-limiter.ts';
import type { HookQueue } from './hook-queue.ts';
import type { Prefetcher } from './prefetcher.ts';
import type { PendingDelivery } from './queries.ts';
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

/**
 * Number of ready queues in a batch. After a full batch, the loop lets one event-loop iteration pass, so that API
 * requests are served in between. The attempts of a batch start together, so that their results are committed together.
 */
const QUEUES_PER_ITERATION = 8;

type DispatchLoopDeps = {
  readonly clock: Clock;
  readonly log: Log;
  /** Concurrency limit of one host, over all accounts. */
  readonly maxAttemptsPerHost: number;
  /** Returns false while this node is stopping or its leases are not valid. */
  readonly mayStart: () => boolean;
  /** Returns false while the settings of a queue must not be read. */
  readonly mayPrefetch: (queue: HookQueue) => boolean;
  /** Loads what a queue needs before its next attempt; schedules the queue afterwards. */
  readonly prefetcher: Pick<Prefetcher, 'add'>;
  readonly attemptRunner: Pick<AttemptRunner, 'inFlightCount' | 'start'>;
};

/** Starts the attempts of leased queues that are ready, round-robin and within the concurrency limits. */
export class DispatchLoop {
  readonly #deps: DispatchLoopDeps;
  /** Queues that may be able to start an attempt, in round-robin order. */
  readonly #readyQueues = new Set<HookQueue>();
  readonly #limiter: ConcurrencyLimiter<HookQueue>;
  readonly #loop: WorkLoop;

  constructor(deps: DispatchLoopDeps) {
    this.#deps = deps;
    this.#loop = new WorkLoop(deps, {
      hasWork: () => this.#readyQueues.size > 0 && deps.attemptRunner.inFlightCount < MAX_IN_FLIGHT && deps.mayStart(),
      runOnce: () => this.#dispatchBatch(),
    });
    const startRateLimiter = new StartRateLimiter({
      clock: deps.clock,
      ...UNPROVEN_START_RATE,
      onPermitsRenewed: () => this.schedule(this.#limiter.serveWaitingQueues()),
    });
    const { maxAttemptsPerHost: maxPerHost } = deps;
    this.#limiter = new ConcurrencyLimiter(
      { maxPerAccount: MAX_IN_FLIGHT_PER_ACCOUNT, maxPerHost, maxUnproven: MAX_UNPROVEN_IN_FLIGHT },
      startRateLimiter,
    );
  }

  /** Schedules queues that may be able to start an attempt. */
  schedule(queues: Iterable<HookQueue>): void {
    for (const queue of queues) this.#readyQueues.add(queue);
    this.#loop.wake();
  }

  /** Sets the retry timer of a queue, which schedules the queue when its next attempt is due. */
  scheduleWhenDue(queue: HookQueue, now: number): void {
    const waitMs = queue.computeWaitMs(now);
    if (waitMs <= 0) return;
    queue.replaceRetryTimer(this.#deps.clock.after(waitMs, () => this.schedule([queue])));
  }

  /** Starts the attempts that could not start while the leases of this node were not valid. */
  wake(): void {
    this.#loop.wake();
  }

  /** Starts at most one attempt on each of up to QUEUES_PER_ITERATION queues. */
  async #dispatchBatch(): Promise<void> {
    const { clock, attemptRunner, mayStart } = this.#deps;
    const queues = firstMembersOf(this.#readyQueues, QUEUES_PER_ITERATION);
    for (const queue of queues) {
      if (attemptRunner.inFlightCount >= MAX_IN_FLIGHT || !mayStart()) break;
      // Round-robin: `#tryDispatch` adds the queue again at the end, so that all queues are served if permits are few.
      this.#readyQueues.delete(queue);
      this.#tryDispatch(queue, clock.now());
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
    const { mayPrefetch, prefetcher } = this.#deps;
    const status = queue.status(now);
    // The queue is scheduled again when the prefetch is done.
    if (status === 'prefetching') return;
    if (status === 'unread' && mayPrefetch(queue)) {
      prefetcher.add(queue);
      return;
    }
    if (!this.#limiter.admitOrEnqueue(queue)) return;
    const nextDelivery = queue.takeNextDelivery(now);
    if (nextDelivery === undefined) this.#postponeQueue(queue, now);
    else {
      this.#startAttempt(queue, nextDelivery);
      this.#readyQueues.add(queue);
    }
  }

  #startAttempt(queue: HookQueue, delivery: PendingDelivery): void {
    const permit = this.#limiter.acquire(queue);
    this.#deps.attemptRunner.start(queue, delivery, () => {
      this.#limiter.release(permit);
      this.#scheduleWaitingQueues(queue);
    });
  }

  /** Called when no attempt of a queue can start now. The retry timer or the next event schedules the queue again. */
  #postponeQueue(queue: HookQueue, now: number): void {
    // A timer may fire a little early, so a new timer is set for the remaining time.
    if (!queue.hasEnded) this.scheduleWhenDue(queue, now);
    this.#scheduleWaitingQueues(queue);
  }

  /** Passes the permits that this queue released or does not need to the queues that wait for one. */
  #scheduleWaitingQueues(queue: HookQueue): void {
    for (const nextQueue of this.#limiter.serveWaitingQueues(queue)) this.#readyQueues.add(nextQueue);
  }
}
