import type { FastifyReply } from 'fastify';
import type { Clock } from '../clock.ts';

/** How often the requests under way are looked over. */
const LOOK_EVERY_MS = 1_000;

/**
 * The requests that are under way: how many, and which have been for too long. One look a second over all of them
 * costs a request nothing; a timer and an abort signal for each were about a sixth of its CPU time.
 */
export class UnderWay {
  readonly #clock: Clock;
  readonly #longestMs: number;
  readonly #giveUp: (reply: FastifyReply) => void;
  /** In the order in which they came. */
  readonly #requests = new Map<FastifyReply, number>();
  #cancel: (() => void) | undefined;

  /** @param giveUp answers a request that has been under way for more than `longestMs` */
  constructor(clock: Clock, longestMs: number, giveUp: (reply: FastifyReply) => void) {
    this.#clock = clock;
    this.#longestMs = longestMs;
    this.#giveUp = giveUp;
  }

  get count(): number {
    return this.#requests.size;
  }

  /** A request has come; it is under way until its connection has its answer or is gone. */
  enter(reply: FastifyReply): void {
    this.#requests.set(reply, this.#clock.monotonic());
    reply.raw.once('close', () => this.#requests.delete(reply));
    this.#cancel ??= this.#clock.after(LOOK_EVERY_MS, () => this.#look());
  }

  /** A request waits for something to happen: it keeps nobody else out, and has no deadline here. */
  leave(reply: FastifyReply): void {
    this.#requests.delete(reply);
  }

  /** Calls `act` with every reply that has not been sent yet. */
  forEach(act: (reply: FastifyReply) => void): void {
    for (const reply of this.#requests.keys()) if (!reply.sent) act(reply);
  }

  /** Nothing can be under way any more, and nothing is looked over. */
  close(): void {
    this.#cancel?.();
  }

  #look(): void {
    const now = this.#clock.monotonic();
    for (const [reply, since] of this.#requests) {
      if (now - since < this.#longestMs) break;
      this.#requests.delete(reply);
      if (!reply.sent) this.#giveUp(reply);
    }
    this.#cancel = this.#requests.size > 0 ? this.#clock.after(LOOK_EVERY_MS, () => this.#look()) : undefined;
  }
}
