import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { FairScheduler } from '../../async/fair-scheduler.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { Problem } from '../../problems.ts';
import { createProblemBody, DEFAULT_RETRY_AFTER_S } from '../errors/problem-response.ts';
import { burstDetector } from './connection-burst.ts';
import type { CorsPolicy } from './cors.ts';

/**
 * The class of a request, which depends only on its head: a `probe` asks for health or metrics, a `caller` has a key or
 * a cookie (valid or not), a `visitor` has neither.
 */
export type RequestClass = 'probe' | 'caller' | 'visitor';

/** Maximum time for which a burst of new connections delays the request of a visitor. */
const MAX_VISITOR_DELAY_MS = 500;

type AdmissionDeps = {
  readonly scheduler: Pick<FairScheduler, 'run'>;
  /** Starts a request. The synchronous part of the request handler runs before this function returns. */
  readonly startRequest: RequestListener;
  readonly requestSlots: {
    /** Whether a request of this class fits within its limit, given how many requests of the class are queued. */
    hasFreeSlot(requestClass: RequestClass, queuedCount: number): boolean;
  };
  readonly loadShedding: Pick<LoadShedding, 'shed'>;
};

/**
 * Admission control is the first step after the head of a request has arrived: it starts the request, queues it, or
 * sheds it (503) while the service is overloaded. Queued requests start round-robin by claimed identity.
 */
export class AdmissionControl {
  readonly #deps: AdmissionDeps;
  readonly #queuedCountByClass: Record<RequestClass, number> = { probe: 0, caller: 0, visitor: 0 };

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  readonly admit = (request: IncomingMessage, response: ServerResponse): void => {
    const requestClass = requestClassOf(request);
    if (!this.#deps.requestSlots.hasFreeSlot(requestClass, this.#queuedCountByClass[requestClass])) {
      this.#deps.loadShedding.shed(request, response, requestClass === 'caller' ? 'requests' : 'visitors');
      return;
    }
    this.#queuedCountByClass[requestClass] += 1;
    const enqueueRequest = () =>
      this.#deps.scheduler.run(claimedIdentityOf(request), () => {
        this.#queuedCountByClass[requestClass] -= 1;
        if (!response.destroyed) this.#deps.startRequest(request, response);
      });
    if (requestClass === 'visitor') burstDetector.runAfterBurst(MAX_VISITOR_DELAY_MS, enqueueRequest);
    else enqueueRequest();
  };
}

function requestClassOf({ url, headers }: IncomingMessage): RequestClass {
  if (isProbe(url)) return 'probe';
  return headers.key === undefined && headers.cookie === undefined ? 'visitor' : 'caller';
}

/**
 * Whether a URL is a health or metrics endpoint. Requests to these are never shed: an orchestrator must not mistake a
 * busy service for a dead one.
 */
export function isProbe(url: string | undefined): boolean {
  return url === '/healthz' || url === '/readyz' || url === '/metrics';
}

/** Returns the claimed, unverified identity of the sender for fair queueing: key, cookie or IP address. */
export function claimedIdentityOf({ headers, socket }: IncomingMessage): string {
  return String(headers.key ?? headers.cookie ?? socket.remoteAddress);
}

/** The limit because of which a request was shed, as it appears in metrics. */
type ShedReason = 'requests' | 'visitors' | 'request_bytes' | 'response_bytes';

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

type LoadSheddingDeps = {
  readonly log: Log;
  readonly clock: Clock;
  readonly baseUrl: () => string;
  readonly onShed: (reason: ShedReason) => void;
  readonly corsPolicy: CorsPolicy;
};

/**
 * Load shedding: while the service is overloaded, rejects requests with 503 as cheaply as possible, with one cached body
 * and one log line per second. `AdmissionControl` and `RequestSlots` decide which requests.
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

  /** Rejects a request before it reaches the framework. It runs synchronously, so it has to be cheap. */
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
