import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';

/**
 * How long requests are begun in one turn of the event loop. Only one connection is accepted in each, so that long
 * turns would keep newcomers out for seconds, unseen and unanswered.
 */
const TURN_MS = 2;

export type AdmissionPorts = {
  readonly clock: Clock;
  /** Begins a request, and does of it what needs no waiting. */
  readonly begin: RequestListener;
  /** Whether it may be under way beside all others, with so many that wait to begin. */
  readonly mayEnter: (request: IncomingMessage, waiting: number) => boolean;
  /** Answers a request that there is no room for. Everything else waits for it: it has to be cheap. */
  readonly shed: RequestListener;
};

/**
 * What every request passes first, when of it nothing but its head has been read: it begins at once, or when those
 * before it have begun, or is shed.
 */
export class Admission {
  readonly #ports: AdmissionPorts;
  readonly #waiting: [IncomingMessage, ServerResponse][] = [];
  #turnEndsAt: number | undefined;
  #isBeginning = false;

  constructor(ports: AdmissionPorts) {
    this.#ports = ports;
  }

  readonly enter = (request: IncomingMessage, response: ServerResponse): void => {
    if (!this.#ports.mayEnter(request, this.#waiting.length)) {
      this.#ports.shed(request, response);
      return;
    }
    this.#waiting.push([request, response]);
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    this.#goOn();
  };

  readonly #goOn = (): void => {
    const now = this.#ports.clock.monotonic();
    if (this.#turnEndsAt === undefined) {
      this.#turnEndsAt = now + TURN_MS;
      setImmediate(this.#endTurn);
    }
    const next = now < this.#turnEndsAt ? this.#waiting.shift() : undefined;
    this.#isBeginning = next !== undefined;
    if (next === undefined) return;
    // Whoever went away meanwhile is not waited for.
    if (!next[1].destroyed) this.#ports.begin(...next);
    // Once everything that this one set going has run, so that the time it takes is seen.
    queueMicrotask(() => process.nextTick(this.#goOn));
  };

  readonly #endTurn = (): void => {
    this.#turnEndsAt = undefined;
    if (this.#waiting.length === 0 || this.#isBeginning) return;
    this.#isBeginning = true;
    this.#goOn();
  };
}
