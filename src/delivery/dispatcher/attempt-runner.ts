import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Random } from '../../secrets.ts';
import type { LeaseManager } from '../cluster/leases.ts';
import { buildResourceUrl, type DeliveryKind } from '../outbox/event-kinds.ts';
import type { SendAttempt } from '../transport/attempt.ts';
import { ConnectionPool, IdleConnectionLimit } from '../transport/connection-pool.ts';
import { createSignatureHeaders } from '../transport/signature.ts';
import type { Completer } from './completer.ts';
import type { HookQueue } from './hook-queue.ts';
import type { InFlightAttempt } from './in-flight-attempt.ts';
import type { PendingDelivery } from './queries.ts';
import { redactHeaderValues } from './redact-headers.ts';
import { type AttemptOutcome, type Decision, formatOutcome } from './retry-policy.ts';

export type AttemptRunnerDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly sendAttempt: SendAttempt;
  readonly leaseManager: Pick<LeaseManager, 'isLeaseValid'>;
  /** Returns the public base URL of this service, with which each `resource_url` begins (C10). */
  readonly baseUrl: () => string;
  /** The retry delays after the first and after the second failure of a hook, without jitter (C18). */
  readonly retryDelaysMs: readonly [number, number];
  /** Time limit of an attempt, from the DNS query to the head of the response (C21). */
  readonly attemptTimeoutMs: number;
  readonly completer: Pick<Completer, 'add'>;
  /** Called when the outcome of an attempt was applied to its queue. */
  readonly onFinished: (queue: HookQueue, now: number) => void;
  /** Called after each attempt, for the metrics. `lateMs`: how much later than due the attempt began. */
  readonly onAttemptFinished: (finishedAttempt: {
    outcome: string;
    decision: Decision['is'];
    durationMs: number;
    lateMs: number;
  }) => void;
};

/** Sends attempts, applies the decision on each outcome to its queue, and passes the result on to be committed. */
export class AttemptRunner {
  readonly #deps: AttemptRunnerDeps;
  readonly #inFlightAttempts = new Set<InFlightAttempt>();
  readonly #idleConnectionLimit: IdleConnectionLimit;
  /** Keep-alive connections to the target of each queue. */
  readonly #connectionPools = new WeakMap<HookQueue, ConnectionPool>();

  constructor(deps: AttemptRunnerDeps) {
    this.#deps = deps;
    this.#idleConnectionLimit = new IdleConnectionLimit(deps.clock);
  }

  /** Number of attempts in flight. */
  get inFlightCount(): number {
    return this.#inFlightAttempts.size;
  }

  /**
   * Starts an attempt.
   *
   * @param onOutcome called when the outcome is known, before it is applied to the queue
   */
  start(queue: HookQueue, pendingDelivery: PendingDelivery, onOutcome: () => void): void {
    const { clock, log } = this.#deps;
    const attempt = queue.beginAttempt(pendingDelivery, clock.now());
    this.#inFlightAttempts.add(attempt);
    this.#send(queue, attempt)
      .catch((error: unknown): AttemptOutcome => {
        log.error({ event: 'attempt.aborted', err: error, hook_id: queue.hookId });
        return { kind: 'local_error', code: 'broken', durationMs: 0 };
      })
      .then((outcome) => {
        this.#inFlightAttempts.delete(attempt);
        onOutcome();
        this.#finish(queue, attempt, outcome);
      })
      .catch((error: unknown) => log.error({ event: 'dispatcher.finish_failed', err: error, hook_id: queue.hookId }));
  }

  /** Sends the webhook. Being async, it also rejects if the request cannot be built, so that the attempt ends. */
  async #send(queue: HookQueue, attempt: InFlightAttempt): Promise<AttemptOutcome> {
    const { sendAttempt, leaseManager, baseUrl, attemptTimeoutMs } = this.#deps;
    const { pendingDelivery } = attempt;
    const deliveryId = String(pendingDelivery.deliveryId);
    const body = JSON.stringify({
      resource_url: buildResourceUrl(baseUrl(), pendingDelivery.kind, pendingDelivery.recordId),
    });
    const { secrets, headers } = queue.settings;
    const outcome = await sendAttempt({
      target: queue.target,
      body,
      deliveryId,
      headers: [
        ...createOccurrenceHeaders(pendingDelivery),
        ...headers,
        ...createSignatureHeaders(secrets, { webhookId: deliveryId, body, sentAt: attempt.beganAt }),
      ],
      timeoutMs: attemptTimeoutMs,
      signal: attempt.signal,
      onBeforeSend: () => {
        // The process may have been paused since the attempt began, and the lease may have expired.
        if (leaseManager.isLeaseValid()) attempt.markSending();
        else attempt.abort();
      },
      onNotSent: () => attempt.markNotSent(),
      connectionPool: this.#getOrCreatePool(queue),
    });
    return hideInResponse(outcome, headers);
  }

  /** Aborts all attempts in flight. Their deliveries stay pending. */
  abortAll(): void {
    for (const attempt of this.#inFlightAttempts) attempt.abort();
  }

  /** Closes the idle connections of a queue, and each other one when its attempt has finished. */
  closeConnections(queue: HookQueue): void {
    this.#connectionPools.get(queue)?.end();
  }

  #getOrCreatePool(queue: HookQueue): ConnectionPool {
    const connectionPool = this.#connectionPools.get(queue) ?? new ConnectionPool(this.#idleConnectionLimit);
    this.#connectionPools.set(queue, connectionPool);
    return connectionPool;
  }

  #finish(queue: HookQueue, attempt: InFlightAttempt, outcome: AttemptOutcome): void {
    const { clock, random, retryDelaysMs, completer, onFinished } = this.#deps;
    const now = clock.now();
    const retryOptions = { retryDelaysMs, jitterFraction: random.fraction() };
    const { decision, completion } = queue.finishAttempt(attempt, outcome, now, retryOptions);
    // An attempt that this service has aborted is not recorded, and its delivery stays pending.
    if (outcome.kind !== 'local_error' || outcome.code !== 'stopped') completer.add(completion);
    this.#report(queue, attempt, outcome, decision);
    if (queue.hasEnded) this.closeConnections(queue);
    onFinished(queue, now);
  }

  #report(queue: HookQueue, attempt: InFlightAttempt, outcome: AttemptOutcome, decision: Decision): void {
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
}

/** Replaces values of the hook's own headers in the response text of a target that repeats them. */
function hideInResponse(outcome: AttemptOutcome, headers: readonly string[]): AttemptOutcome {
  if (headers.length === 0 || outcome.kind !== 'answered' || !outcome.responseText) return outcome;
  return { ...outcome, responseText: redactHeaderValues(outcome.responseText, headers) };
}

/** Returns the headers that describe the occurrence (X11), as alternating names and values. */
function createOccurrenceHeaders({ kind, position, fields }: PendingDelivery): readonly string[] {
  return [
    ...['webhook-event', kind],
    ...(position === null ? [] : ['webhook-cursor', String(position)]),
    ...(fields === null ? [] : ['webhook-fields', fields]),
  ];
}
