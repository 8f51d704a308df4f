import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Random } from '../../secrets.ts';
import type { CommitEvents, NewPendingDeliveries, Store } from '../../store/store.ts';
import type { Lease, LeaseManager } from '../cluster/leases.ts';
import { type DeliveryKind, resourceUrl } from '../outbox/event-kinds.ts';
import type { HookAlerts } from '../outbox/hook-alerts.ts';
import type { Attempt } from '../transport/attempt.ts';
import { ConnectionPool, PoolCapacity } from '../transport/connection-pool.ts';
import { startDeadline } from '../transport/deadline.ts';
import { signatureOf } from '../transport/signature.ts';
import type { Outcome } from './attempt-outcome.ts';
import type { Completion } from './complete-deliveries.ts';
import { Completer } from './completer.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';
import { HookQueue } from './hook-queue.ts';
import type { InFlightAttempt } from './in-flight-attempt.ts';
import { Prefetcher } from './prefetcher.ts';
import { type HookQueueRow, type PendingDelivery, pendingDeliveries } from './queries.ts';
import { type Decision, decide, longestWaitMs, outcomeWord, reasonOf } from './retry-policy.ts';
import { StartRateLimiter } from './start-rate-limiter.ts';
import { firstOf, WorkLoop } from './work-loop.ts';

/** The most attempts in flight at once, over all lanes. */
const MAX_IN_FLIGHT = 2_000;

/** The most of them for one account: however many of its targets hang, the others have slots (C22). */
const MAX_IN_FLIGHT_PER_ACCOUNT = MAX_IN_FLIGHT / 4;

/** The most of them to targets that are not known to answer: however many hang, those that answer have slots (C22). */
const MAX_UNPROVEN_IN_FLIGHT = MAX_IN_FLIGHT / 2;

/**
 * So many attempts to targets that are not known to answer begin in so many milliseconds: a crowd of them is spread over
 * as many seconds as it has thousands, in which whoever answers is told as ever (C22).
 */
const UNPROVEN_START_RATE = { most: 20, everyMs: 20 } as const;

/** How many lanes are taken up at once. */
const QUEUES_PER_CLAIM = 100;

/**
 * Of many that could begin, so many do in one turn of the event loop: whoever calls the service meanwhile is answered in
 * between. Where few can at a time, they begin at once: what they come to is then written down together.
 */
const QUEUES_PER_ITERATION = 32;

/** Lanes kept in memory while nothing is pending for them; beyond it the idle ones are forgotten. */
const MAX_QUEUES = 50_000;

/** Where lanes are shared, one that nothing was pending for for so long is let go. */
const IDLE_RELEASE_MS = 10_000;

/** After something could not be said: when it is tried again. */
const RETRY_DELAY_MS = 500;

export type DispatcherPorts = {
  readonly store: Store;
  readonly claims: LeaseManager;
  readonly clock: Clock;
  readonly random: Random;
  readonly attempt: Attempt;
  /** How owners are told of their hooks. */
  readonly notices: HookAlerts;
  readonly log: Log;
  readonly baseUrl: () => string;
  readonly waitsMs: readonly [number, number];
  readonly attemptTimeoutMs: number;
  /** The most attempts in flight to one host, of all accounts together. */
  readonly maxAttemptsPerHost: number;
  readonly onAttempt: (attempted: { outcome: string; result: Decision['is']; ms: number; lateMs: number }) => void;
};

/**
 * Tells hooks what is pending for them. Works lane by lane: a slow, dead or hostile target costs the slots of its own lane
 * and nobody else's (C22). Nothing is held open while an attempt is in flight: no transaction, no lock.
 */
export class Dispatcher {
  readonly #ports: DispatcherPorts;
  readonly #queues = new Map<number, HookQueue>();
  /** Hooks that something is pending for, not yet read. */
  readonly #unclaimed = new Set<number>();
  /** Hooks that could not be taken up since the last look: another node has them, or they have ended. */
  readonly #claimMissed = new Set<number>();
  /** Lanes that may be able to begin an attempt. */
  readonly #ready = new Set<HookQueue>();
  readonly #limiter: ConcurrencyLimiter<HookQueue>;
  readonly #poolCapacity: PoolCapacity;
  /** What attempts of a lane have left open. */
  readonly #connections = new WeakMap<HookQueue, ConnectionPool>();
  /** How often everything was lost, to know what was taken up before and what after. */
  #evictions = 0;
  /** Hooks that have ended while lanes are being taken up: what comes back of them is old. */
  readonly #endedDuringClaim = new Set<number>();
  /** Hooks of which it is being said that a change of their secrets was heard. */
  readonly #acknowledging = new Set<number>();
  /** Those of which this was said while lanes are being taken up: the secrets that come back of these are old. */
  readonly #changedDuringClaim = new Set<number>();
  /** Hooks that may have become free while lanes are being taken up: where one of these is refused, it is asked for once more. */
  readonly #releasedDuringClaim = new Set<number>();
  readonly #inFlight = new Set<InFlightAttempt>();
  readonly #claimLoop: WorkLoop;
  /** The lanes that are being taken up are this engine's, or have failed to be. */
  #claimed: Promise<void> = Promise.resolve();
  readonly #prefetcher: Prefetcher;
  readonly #dispatchLoop: WorkLoop;
  readonly #completer: Completer;
  #stopping = false;
  #cancelPoll: () => void = () => undefined;
  /** At a stop: something has ended, was written down, or was taken up. */
  #onProgress: () => void = () => undefined;

  constructor(ports: DispatcherPorts) {
    this.#ports = ports;
    this.#poolCapacity = new PoolCapacity(ports.clock);
    this.#completer = new Completer({ ...ports, onWritten: (written, fenced) => this.#onResult(written, fenced) });
    const mayGoOn = () => !this.#stopping && ports.claims.isLeaseValid();
    this.#claimLoop = new WorkLoop(ports, {
      hasWork: () => this.#unclaimed.size > 0 && mayGoOn(),
      runOnce: () => {
        const turn = this.#claimBatch();
        this.#claimed = turn.catch(() => undefined);
        return turn;
      },
    });
    this.#prefetcher = new Prefetcher({
      ...ports,
      mayGoOn,
      mayReadSecrets: ({ hookId }) => !this.#acknowledging.has(hookId),
      onRead: (queue) => this.#schedule([queue]),
    });
    this.#dispatchLoop = new WorkLoop(ports, {
      hasWork: () => this.#ready.size > 0 && this.#inFlight.size < MAX_IN_FLIGHT && mayGoOn(),
      runOnce: () => this.#dispatchBatch(),
    });
    const { maxAttemptsPerHost: host } = ports;
    const pace = new StartRateLimiter({
      clock: ports.clock,
      ...UNPROVEN_START_RATE,
      onMore: () => this.#schedule(this.#limiter.next()),
    });
    this.#limiter = new ConcurrencyLimiter(
      { account: MAX_IN_FLIGHT_PER_ACCOUNT, host, unproven: MAX_UNPROVEN_IN_FLIGHT },
      pace,
    );
  }

  /** Begins: everything that was pending when the service last stopped is pending still (C20). */
  async start(): Promise<void> {
    const { store, claims } = this.#ports;
    store.onCommitted((news) => this.#onCommit(news));
    await claims.start({
      onLeaseRenewed: () => {
        for (const loop of [this.#claimLoop, this.#prefetcher, this.#dispatchLoop]) loop.wake();
      },
      onLeasesLost: (hookIds) => void this.#onLeasesLost(hookIds),
      onChanged: (hookIds) => this.#invalidateSecrets(hookIds),
    });
    await this.#poll();
  }

  /** Begins nothing new, lets what is in flight finish for `graceMs`, ends the rest, and writes everything down. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    if (graceMs === 0) this.#completer.cut();
    this.#cancelPoll();
    const cancelCut = startDeadline(this.#ports.clock, graceMs, () => {
      this.#completer.cut();
      for (const flight of this.#inFlight) flight.abort();
    });
    this.#ports.claims.stopClaiming();
    await this.#drain();
    await this.#claimed;
    for (const queue of this.#queues.values()) {
      queue.forget();
      this.#connections.get(queue)?.end();
    }
    await this.#completer.written();
    cancelCut();
    await this.#ports.claims.stop();
  }

  /** How many attempts are in flight, for the metrics. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** How many lanes it has taken up, for the metrics. */
  get leasedQueues(): number {
    return this.#queues.size;
  }

  async #poll(): Promise<void> {
    const { claims, clock, log } = this.#ports;
    this.#claimMissed.clear();
    try {
      for (let after: number | undefined = 0; after !== undefined && !this.#stopping; ) {
        const { pending, asked, next } = await claims.findWork(after);
        for (const hookId of pending) this.#reconcile(hookId);
        for (const hookId of asked) this.#wake(hookId, 'asked');
        after = next;
      }
      if (claims.isShared) await this.#release((queue) => queue.isIdle && clock.now() - queue.usedAt > IDLE_RELEASE_MS);
    } catch (error) {
      log.error({ event: 'dispatcher.poll_failed', err: error });
    }
    if (!this.#stopping) this.#cancelPoll = clock.after(claims.pollMs, () => void this.#poll());
  }

  /** A lane that is at work comes upon what is pending by itself; unless its turn was lost, which nothing may cost a wait. */
  #reconcile(hookId: number): void {
    const queue = this.#queues.get(hookId);
    if (queue?.isActive !== true) this.#wake(hookId, 'pending');
    else if (queue.isUnused(this.#ports.clock.now())) this.#schedule([queue]);
  }

  /**
   * At a stop, until nothing is in flight any more: others may go on at once with lanes of which everything is written
   * down. Whatever still hangs holds its own lane and no other.
   */
  async #drain(): Promise<void> {
    let queues: Lease[] = [];
    for (;;) {
      const step = new Promise<void>((resolve) => {
        this.#onProgress = resolve;
      });
      const { unwritten } = this.#completer;
      queues.push(...this.#discardAll((queue) => !queue.isBusy && !unwritten.has(queue.hookId)));
      const areFree = await this.#releaseOne(queues);
      if (areFree) queues = [];
      if (this.#inFlight.size === 0) return;
      await (areFree ? step : new Promise<void>((resolve) => this.#ports.clock.after(RETRY_DELAY_MS, resolve)));
    }
  }

  /** Forgets lanes that need nothing of this engine now, and lets go of them. */
  async #release(which: (queue: HookQueue) => boolean): Promise<void> {
    await this.#releaseOne(this.#discardAll(which));
  }

  #discardAll(which: (queue: HookQueue) => boolean): HookQueue[] {
    const queues = [...this.#queues.values()].filter(which);
    for (const lane of queues) this.#discard(lane);
    return queues;
  }

  /** Whether these are let go of. What is not stays this node's, until it takes it up again or ends. */
  #releaseOne(queues: readonly Lease[]): Promise<boolean> {
    const { claims, log } = this.#ports;
    return claims.release(queues).then(
      () => true,
      (error: unknown) => {
        log.error({ event: 'dispatcher.release_failed', err: error });
        return false;
      },
    );
  }

  /** Nothing begins on it any more, also where it is just being read. Where it is in line, its turn passes on. */
  #discard(queue: HookQueue): void {
    queue.end();
    this.#connections.get(queue)?.end();
    this.#queues.delete(queue.hookId);
  }

  /** These are not this engine's any more: nothing begins on them, and what has not gone out does not go out. */
  async #dropAndRelease(hookIds: readonly number[]): Promise<void> {
    for (const hookId of hookIds) this.#endedDuringClaim.add(hookId);
    const queues = hookIds.map((hookId) => ({ hookId, generation: this.#queues.get(hookId)?.generation ?? 0 }));
    for (const hookId of hookIds) {
      const queue = this.#queues.get(hookId);
      if (queue !== undefined) this.#discard(queue);
      this.#unclaimed.delete(hookId);
    }
    await this.#releaseOne(queues);
  }

  /** These lanes are not this node's any more; all of them are not, when undefined. */
  #onLeasesLost(hookIds: readonly number[] | undefined): Promise<void> {
    if (hookIds === undefined) this.#evictions += 1;
    return this.#dropAndRelease(hookIds ?? [...this.#queues.keys()]);
  }

  /**
   * X8: from here on nothing begins on these that is signed as before. What signs them is read after it was said that
   * this was heard, and not before: saying so must not pass over a change that came in between.
   */
  #invalidateSecrets(hookIds: readonly number[]): void {
    for (const hookId of hookIds) this.#queues.get(hookId)?.invalidateSecrets();
    const unsaid = hookIds.filter((hookId) => !this.#acknowledging.has(hookId));
    if (unsaid.length > 0) void this.#acknowledgeSecrets(unsaid);
  }

  async #acknowledgeSecrets(hookIds: readonly number[]): Promise<void> {
    const { claims, clock, log } = this.#ports;
    for (const hookId of hookIds) this.#acknowledging.add(hookId);
    for (let isSaid = false; !isSaid && !this.#stopping; ) {
      isSaid = await claims.acknowledge(hookIds).then(
        () => true,
        (error: unknown) => {
          log.error({ event: 'dispatcher.acknowledge_failed', err: error });
          return false;
        },
      );
      if (!isSaid) await new Promise<void>((resolve) => clock.after(RETRY_DELAY_MS, resolve));
    }
    for (const hookId of hookIds) {
      this.#acknowledging.delete(hookId);
      this.#changedDuringClaim.add(hookId);
    }
    this.#schedule(hookIds.map((hookId) => this.#queues.get(hookId)).filter((queue) => queue !== undefined));
  }

  #wakeOwner(hookId: number): void {
    this.#wake(hookId, 'pending');
    this.#wake(hookId, 'asked');
  }

  /**
   * C13: runs before the write that ended a hook is answered, so after that answer nothing begins. A lane that a
   * decision ended is known until that is written down, lest a wake-up meanwhile take it up again.
   */
  #onCommit(news: CommitEvents): Promise<void> | undefined {
    const ended = [...news.ended.keys()];
    for (const hookId of ended) this.#endedDuringClaim.add(hookId);
    const isKnown = (hookId: number) => this.#queues.has(hookId) || this.#unclaimed.has(hookId);
    this.#invalidateSecrets([...news.changed].filter(isKnown));
    const known = ended.filter(isKnown);
    const dropped = known.length > 0 ? this.#dropAndRelease(known) : undefined;
    // What a node commits that delivers itself, it takes up itself: here it matters where the lane is ours already. One
    // that is just being taken up is read after that.
    const mine = (hookId: number) => news.from !== 'deliverer' || this.#queues.has(hookId);
    for (const [hookId, rows] of news.pending) if (mine(hookId)) this.#wake(hookId, 'pending', rows);
    for (const hookId of news.asked) if (mine(hookId)) this.#wake(hookId, 'asked');
    return dropped;
  }

  /** @param rows all that is newly pending, where it is known */
  #wake(hookId: number, what: 'pending' | 'asked', rows?: readonly NewPendingDeliveries[]): void {
    const queue = this.#queues.get(hookId);
    if (queue === undefined) {
      // Whoever has it hears of it, too; asking for it each time would cost more than telling.
      if (rows !== undefined && this.#claimMissed.has(hookId)) return;
      if (rows === undefined) this.#releasedDuringClaim.add(hookId);
      this.#unclaimed.add(hookId);
      this.#claimLoop.wake();
      return;
    }
    if (what === 'asked') queue.hasUnreadManual = true;
    else if (rows === undefined) queue.hasUnread = true;
    else queue.push(pendingDeliveries(rows), this.#ports.clock.now());
    this.#schedule([queue]);
  }

  /** These may be able to begin an attempt. */
  #schedule(queues: readonly HookQueue[]): void {
    for (const queue of queues) this.#ready.add(queue);
    this.#dispatchLoop.wake();
  }

  /** Takes up some of the lanes that something is pending for. */
  async #claimBatch(): Promise<void> {
    const hookIds = firstOf(this.#unclaimed, QUEUES_PER_CLAIM);
    const losses = this.#evictions;
    this.#endedDuringClaim.clear();
    this.#changedDuringClaim.clear();
    this.#releasedDuringClaim.clear();
    const rows = await this.#ports.claims.claim(hookIds);
    if (losses !== this.#evictions) return;
    const byHook = new Map(rows.map((row) => [row.hookId, row]));
    for (const hookId of hookIds) {
      // It may have been restored since: then it is in line again, and is taken up anew.
      if (this.#endedDuringClaim.has(hookId)) continue;
      const row = byHook.get(hookId);
      this.#unclaimed.delete(hookId);
      if (row !== undefined) this.#addQueue(row);
      // To the end of the line, so that every hook gets its turn.
      else if (this.#releasedDuringClaim.has(hookId)) this.#unclaimed.add(hookId);
      else this.#claimMissed.add(hookId);
    }
    this.#onProgress();
    if (this.#queues.size > MAX_QUEUES) await this.#release((queue) => queue.isIdle);
  }

  #addQueue(row: HookQueueRow): void {
    const queue = new HookQueue(row, this.#ports.clock.now(), longestWaitMs(this.#ports.waitsMs));
    if (this.#changedDuringClaim.has(queue.hookId) || this.#acknowledging.has(queue.hookId)) queue.invalidateSecrets();
    this.#queues.set(queue.hookId, queue);
    this.#connections.set(queue, new ConnectionPool(this.#poolCapacity));
    this.#wakeWhenDue(queue, this.#ports.clock.now());
    this.#schedule([queue]);
  }

  #wakeWhenDue(queue: HookQueue, now: number): void {
    const waitMs = queue.wakeMs(now);
    if (waitMs <= 0) return;
    queue.setTimer(this.#ports.clock.after(waitMs, () => this.#schedule([queue])));
  }

  /** Nothing of this lane can begin now: its timer, or what happens to it, brings it back. */
  #parkUntilDue(queue: HookQueue, now: number): void {
    // A timer may fire a little before its time.
    if (!queue.ended) this.#wakeWhenDue(queue, now);
    this.#wakeWaiters(queue);
  }

  /** Where there is room that this lane has no use for, or has just left, whoever has waited for it gets a turn. */
  #wakeWaiters(queue: HookQueue): void {
    for (const next of this.#limiter.next(queue)) this.#ready.add(next);
  }

  /** Begins one attempt on each of some lanes, as far as it may. */
  async #dispatchBatch(): Promise<void> {
    const { clock, claims } = this.#ports;
    const queues = firstOf(this.#ready, QUEUES_PER_ITERATION);
    for (const queue of queues) {
      if (this.#inFlight.size >= MAX_IN_FLIGHT || !claims.isLeaseValid()) break;
      // To the end of the line, so that every lane gets its turn when slots are few.
      this.#ready.delete(queue);
      // Read or not: once it is, it gets its turn.
      if (!queue.isPrefetching) this.#tryDispatch(queue, clock.now());
    }
    if (queues.length === QUEUES_PER_ITERATION) await new Promise<void>((resolve) => setImmediate(resolve));
  }

  /** One moment for all of it: a wait that ends in between would leave the lane without a turn and without a timer. */
  #tryDispatch(queue: HookQueue, now: number): void {
    if (queue.isUnread(now) && !this.#acknowledging.has(queue.hookId)) {
      this.#prefetcher.add(queue);
      return;
    }
    if (!this.#limiter.admits(queue)) return;
    const row = queue.nextManual(now) ?? queue.next(now);
    if (row === undefined) this.#parkUntilDue(queue, now);
    else {
      this.#begin(queue, row);
      this.#ready.add(queue);
    }
  }

  #begin(queue: HookQueue, row: PendingDelivery): void {
    if (queue.ended) return;
    const { claims, clock, attempt, baseUrl, attemptTimeoutMs } = this.#ports;
    const flight = queue.begin(row, clock.now());
    this.#inFlight.add(flight);
    const place = this.#limiter.acquire(queue);
    const deliveryId = String(row.deliveryId);
    const body = JSON.stringify({ resource_url: resourceUrl(baseUrl(), row.kind, row.recordId) });
    const order = {
      target: queue.target,
      body,
      deliveryId,
      signature: signatureOf(queue.secrets, { id: deliveryId, body, now: flight.beganAt }),
      deadlineMs: attemptTimeoutMs,
      signal: flight.signal,
      onDialled: () => {
        // The process may have stood still since it began.
        if (claims.isLeaseValid()) flight.dialled();
        else flight.abort();
      },
      onUndialled: () => flight.undialled(),
      kept: this.#connections.get(queue),
    };
    attempt(order)
      .catch((error: unknown): Outcome => {
        this.#ports.log.error({ event: 'attempt.aborted', err: error, hook_id: queue.hookId });
        return { kind: 'ours', fault: 'broken', ms: 0 };
      })
      .then((outcome) => {
        this.#limiter.release(place);
        this.#finish(queue, flight, outcome);
      })
      .catch((error: unknown) =>
        this.#ports.log.error({ event: 'dispatcher.finish_failed', err: error, hook_id: queue.hookId }),
      );
  }

  #finish(queue: HookQueue, flight: InFlightAttempt, outcome: Outcome): void {
    this.#inFlight.delete(flight);
    this.#wakeWaiters(queue);
    const decision = decide({
      outcome,
      failures: queue.failures,
      sameBurst: queue.isPartOfFailure(flight),
      isManual: flight.row.manualAttemptId !== null,
      localErrors: queue.localErrorsBefore(flight),
      waitsMs: this.#ports.waitsMs,
      fraction: this.#ports.random.fraction(),
    });
    const now = this.#ports.clock.now();
    const settlement = queue.finish({
      flight,
      decision,
      outcome: outcomeWord(outcome),
      reason: reasonOf(decision),
      ms: outcome.ms,
      now,
    });
    this.#report(queue, flight, outcome, decision);
    // Stopped by our own stop, or by the hook's end: the delivery is pending as before, and nothing happened.
    if (outcome.kind !== 'ours' || outcome.fault !== 'stopped') this.#completer.add(settlement);
    if (queue.ended) this.#connections.get(queue)?.end();
    else {
      this.#wakeWhenDue(queue, now);
      this.#ready.add(queue);
    }
    this.#dispatchLoop.wake();
    this.#onProgress();
  }

  #report(queue: HookQueue, flight: InFlightAttempt, outcome: Outcome, decision: Decision): void {
    const word = outcomeWord(outcome);
    const lateMs = Math.max(0, Math.round(flight.beganAt - flight.dueAt));
    this.#ports.onAttempt({ outcome: word, result: decision.is, ms: outcome.ms, lateMs });
    this.#ports.log.info({
      event: 'delivery.attempted',
      account_id: queue.accountId,
      hook_id: queue.hookId,
      delivery_id: flight.row.deliveryId,
      kind: flight.row.kind satisfies DeliveryKind,
      target: queue.maskedTarget,
      outcome: word,
      result: decision.is,
      failures: queue.failures,
      ms: Math.round(outcome.ms),
      ...('waitMs' in decision ? { wait_ms: decision.waitMs } : {}),
      ...('note' in outcome && outcome.note !== undefined ? { note: outcome.note } : {}),
    });
  }

  /** What was settled is written down, or its lane is not this engine's any more. */
  #onResult(written: readonly Completion[], fenced: readonly Lease[]): void {
    for (const one of written) this.#onCompleted(one);
    for (const one of fenced) this.#onFenced(one);
    this.#dispatchLoop.wake();
    this.#onProgress();
  }

  #onCompleted({ hookId, row }: Completion): void {
    const queue = this.#queues.get(hookId);
    if (queue === undefined) return;
    // It may have waited for that.
    if (queue.isSaturated) this.#ready.add(queue);
    queue.onCompleted(row.deliveryId);
  }

  /** A lane that is not any more as it was taken up: it is left, and taken up anew if it may be. */
  #onFenced({ hookId, generation }: Lease): void {
    const queue = this.#queues.get(hookId);
    if (queue === undefined || queue.generation !== generation) return;
    this.#discard(queue);
    this.#wakeOwner(hookId);
  }
}
