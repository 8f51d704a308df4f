import type { FastifyReply } from 'fastify';
import type { Owner, Quota } from '../../async/quota.ts';
import { RunningTime } from '../../async/running-time.ts';
import type { Clock } from '../../clock.ts';

/** How often the requests under way are looked over. */
const CHECK_INTERVAL_MS = 1_000;

type UnderWayRequest = { readonly since: number; readonly places: Quota; readonly owner: Owner };

/**
 * The requests that are under way, each in a place of its own, and which have been for too long. One look a second over
 * all of them costs a request nothing; a timer and an abort signal for each were about a sixth of its CPU time.
 */
export class ActiveRequests {
  readonly #time: RunningTime;
  readonly #answerMs: number;
  readonly #onTimeout: (reply: FastifyReply) => void;
  /** In the order in which they came. */
  readonly #requests = new Map<FastifyReply, UnderWayRequest>();

  /** @param giveUp answers a request that has been under way for more than `answerMs` */
  constructor(clock: Clock, answerMs: number, giveUp: (reply: FastifyReply) => void) {
    this.#time = new RunningTime(clock, CHECK_INTERVAL_MS, () => this.#checkTimeouts());
    this.#answerMs = answerMs;
    this.#onTimeout = giveUp;
  }

  /**
   * A request takes a place, until it leaves.
   *
   * @returns whether there was one
   */
  enter(reply: FastifyReply, places: Quota, owner: Owner): boolean {
    this.exclude(reply);
    if (!places.take(owner)) return false;
    this.#time.start();
    this.#requests.set(reply, { since: this.#time.nextMs, places, owner });
    return true;
  }

  /** A request has its answer, or waits for something to happen: it keeps nobody else out, and has no deadline here. */
  exclude(reply: FastifyReply): void {
    const request = this.#requests.get(reply);
    if (request === undefined) return;
    this.#requests.delete(reply);
    request.places.give(request.owner);
  }

  /** Nothing can be under way any more, and nothing is looked over. */
  close(): void {
    this.#time.stop();
  }

  #checkTimeouts(): void {
    for (const [reply, { since }] of this.#requests) {
      if (this.#time.ms - since < this.#answerMs) break;
      this.exclude(reply);
      if (!reply.sent) this.#onTimeout(reply);
    }
    if (this.#requests.size === 0) this.#time.stop();
  }
}
