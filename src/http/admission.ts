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
  #turnEndsAt = 0;
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
    if (!this.#isBeginning) this.#goOn();
  };

  readonly #goOn = (): void => {
    this.#isBeginning = this.#waiting.length > 0;
    if (!this.#isBeginning) return;
    if (this.#ports.clock.monotonic() >= this.#turnEndsAt) {
      setImmediate(this.#goOnInNextTurn);
      return;
    }
    const next = this.#waiting.shift();
    // Whoever went away meanwhile is not waited for.
    if (next !== undefined && !next[1].destroyed) this.#ports.begin(...next);
    // Once everything that this one set going has run, so that the time it takes is seen.
    queueMicrotask(this.#goOnLast);
  };

  readonly #goOnLast = (): void => process.nextTick(this.#goOn);

  readonly #goOnInNextTurn = (): void => {
    this.#turnEndsAt = this.#ports.clock.monotonic() + TURN_MS;
    this.#goOn();
  };
}
