import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { Problem } from '../../problems.ts';
import { createProblemBody, DEFAULT_RETRY_AFTER_S } from '../errors/problem-response.ts';
import type { CorsPolicy } from './cors.ts';

/** The limit because of which a request was shed, as it appears in metrics. */
export type ShedReason = 'requests' | 'visitors' | 'request_bytes' | 'response_bytes';

declare module 'fastify' {
  interface FastifyRequest {
    /** The reason if the request was shed. Shed requests are counted instead of logged one by one. */
    shedReason?: ShedReason;
  }
}

/** Marks a request as shed, and returns the problem to throw. */
export function markAsShed(request: FastifyRequest, reason: ShedReason): Problem {
  request.shedReason = reason;
  return new Problem('overloaded');
}

export type LoadSheddingDeps = {
  readonly log: Log;
  readonly clock: Clock;
  readonly baseUrl: () => string;
  readonly onShed: (reason: ShedReason) => void;
  readonly corsPolicy: CorsPolicy;
};

/**
 * Load shedding: while the service is overloaded, rejects requests with 503 as cheaply as possible, with one cached body
 * and one log line per second. `AdmissionControl` (`admission.ts`) and `RequestSlots` decide which requests.
 */
export class LoadShedding {
  readonly #deps: LoadSheddingDeps;
  readonly #shedCounter: ReasonCounter<ShedReason>;
  #cachedBodyText = '';
  #cachedBodyBaseUrl = '';

  constructor(deps: LoadSheddingDeps) {
    this.#deps = deps;
    this.#shedCounter = new ReasonCounter(deps.clock, (reasons) => {
      const count = Object.values(reasons).reduce((sum, reasonCount) => sum + reasonCount, 0);
      deps.log.warn({ event: 'requests.shed', count, reasons });
    });
  }

  /** Rejects a request before it reaches the framework. */
  shed(request: IncomingMessage, response: ServerResponse, reason: ShedReason): void {
    const body = this.#getCachedBody();
    // `Date` is optional in a 5xx response (RFC 9110, 6.6.1).
    response.sendDate = false;
    response.writeHead(503, {
      'content-type': 'application/problem+json',
      'content-length': body.length,
      'retry-after': String(DEFAULT_RETRY_AFTER_S),
      ...this.#deps.corsPolicy(request),
    });
    response.end(body);
    this.countShedRequest(reason);
  }

  countShedRequest(reason: ShedReason): void {
    this.#deps.onShed(reason);
    this.#shedCounter.count(reason);
  }

  /** Logs the pending counts and cancels the timer. */
  flushShedLog(): void {
    this.#shedCounter.flush();
  }

  #getCachedBody(): string {
    // Build the body at its first use, because the base URL is unknown until the service listens.
    const baseUrl = this.#deps.baseUrl();
    if (this.#cachedBodyBaseUrl !== baseUrl || this.#cachedBodyText === '') {
      this.#cachedBodyBaseUrl = baseUrl;
      this.#cachedBodyText = JSON.stringify(createProblemBody(new Problem('overloaded'), baseUrl));
    }
    return this.#cachedBodyText;
  }
}

const REPORT_INTERVAL_MS = 1_000;

/** Counts frequent events by reason, and reports the counts at most once a second instead of one log line per event. */
export class ReasonCounter<Reason extends string> {
  readonly #clock: Clock;
  readonly #report: (counts: Readonly<Partial<Record<Reason, number>>>) => void;
  #counts: Partial<Record<Reason, number>> = {};
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, report: (counts: Readonly<Partial<Record<Reason, number>>>) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  count(reason: Reason): void {
    this.#counts[reason] = (this.#counts[reason] ?? 0) + 1;
    this.#cancelTimer ??= this.#clock.after(REPORT_INTERVAL_MS, () => this.flush());
  }

  /** Reports the pending counts and cancels the timer. */
  flush(): void {
    if (this.#cancelTimer === undefined) return;
    this.#cancelTimer();
    this.#cancelTimer = undefined;
    const counts = this.#counts;
    this.#counts = {};
    this.#report(counts);
  }
}
