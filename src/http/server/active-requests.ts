import type { FastifyReply } from 'fastify';
import type { Owner, Quota } from '../../async/quota.ts';
import { RunningTime } from '../../async/running-time.ts';
import type { Clock } from '../../clock.ts';

const CHECK_INTERVAL_MS = 1_000;

type ActiveRequest = { readonly since: number; readonly slots: Quota; readonly owner: Owner };

/**
 * Requests in progress, their slots and their timeouts. All timeouts are checked once a second; a timer and an abort
 * signal for each request took about a sixth of its CPU time.
 */
export class ActiveRequests {
  readonly #time: RunningTime;
  readonly #timeoutMs: number;
  readonly #onTimeout: (reply: FastifyReply) => void;
  /** Oldest first. */
  readonly #requests = new Map<FastifyReply, ActiveRequest>();

  /** @param onTimeout responds to a request that has been in progress for more than `timeoutMs` */
  constructor(clock: Clock, timeoutMs: number, onTimeout: (reply: FastifyReply) => void) {
    this.#time = new RunningTime(clock, CHECK_INTERVAL_MS, () => this.#checkTimeouts());
    this.#timeoutMs = timeoutMs;
    this.#onTimeout = onTimeout;
  }

  /**
   * Takes a slot for a request; releases the one it had.
   *
   * @returns whether a slot was free
   */
  enter(reply: FastifyReply, slots: Quota, owner: Owner): boolean {
    this.exclude(reply);
    if (!slots.take(owner)) return false;
    this.#time.start();
    this.#requests.set(reply, { since: this.#time.nextMs, slots, owner });
    return true;
  }

  /** Releases the slot and the timeout of a request that has its response, or that waits for new feed entries. */
  exclude(reply: FastifyReply): void {
    const request = this.#requests.get(reply);
    if (request === undefined) return;
    this.#requests.delete(reply);
    request.slots.give(request.owner);
  }

  close(): void {
    this.#time.stop();
  }

  #checkTimeouts(): void {
    for (const [reply, { since }] of this.#requests) {
      if (this.#time.ms - since < this.#timeoutMs) break;
      this.exclude(reply);
      if (!reply.sent) this.#onTimeout(reply);
    }
    if (this.#requests.size === 0) this.#time.stop();
  }
}
