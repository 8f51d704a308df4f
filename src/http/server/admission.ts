import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FairScheduler } from '../../async/fair-scheduler.ts';
import { burstDetector } from './connection-burst.ts';

/**
 * The class of a request, which depends only on its head: a `probe` asks for health or metrics, a `caller` has a key or
 * a cookie (valid or not), a `visitor` has neither.
 */
export type RequestClass = 'probe' | 'caller' | 'visitor';

/** Maximum time for which a burst of new connections delays the request of a visitor. */
const MAX_VISITOR_DELAY_MS = 500;

export type AdmissionDeps = {
  readonly scheduler: Pick<FairScheduler, 'run'>;
  /** Starts a request. The synchronous part of the request handler runs before this function returns. */
  readonly startRequest: RequestListener;
  /** Whether one more request of this class fits within its limit, given how many requests of the class are queued. */
  readonly hasFreeSlot: (requestClass: RequestClass, queuedCount: number) => boolean;
  /** Rejects a request that does not fit. It runs synchronously, so it has to be cheap. */
  readonly shed: (request: IncomingMessage, response: ServerResponse, requestClass: RequestClass) => void;
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
    if (!this.#deps.hasFreeSlot(requestClass, this.#queuedCountByClass[requestClass])) {
      this.#deps.shed(request, response, requestClass);
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
