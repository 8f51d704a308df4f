import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FairScheduler } from '../../async/fair-scheduler.ts';
import { connectionBurst } from './connection-burst.ts';

/**
 * The class of a request by its head alone: `probe` for health and metrics, `caller` with any key or cookie, valid or
 * not, `visitor` without one.
 */
export type Claim = 'probe' | 'caller' | 'visitor';

/** Maximum delay of a visitor's request by a burst of connections. */
const MAX_POSTPONED_MS = 500;

export type AdmissionPorts = {
  readonly scheduler: Pick<FairScheduler, 'run'>;
  /** Starts a request and runs its synchronous part. */
  readonly begin: RequestListener;
  /** Whether one more request fits, given how many with the same claim are queued. */
  readonly hasRoom: (claim: Claim, waiting: number) => boolean;
  /** Responds to a request that does not fit. Runs synchronously and has to be cheap. */
  readonly shed: (request: IncomingMessage, response: ServerResponse, claim: Claim) => void;
};

/**
 * Admission control, the first step after a request's head has arrived: the request starts, is queued, or is shed.
 * Queued requests are started round-robin by claimed caller.
 */
export class AdmissionControl {
  readonly #ports: AdmissionPorts;
  readonly #waiting: Record<Claim, number> = { probe: 0, caller: 0, visitor: 0 };

  constructor(ports: AdmissionPorts) {
    this.#ports = ports;
  }

  readonly enter = (request: IncomingMessage, response: ServerResponse): void => {
    const claim = claimOf(request);
    if (!this.#ports.hasRoom(claim, this.#waiting[claim])) {
      this.#ports.shed(request, response, claim);
      return;
    }
    this.#waiting[claim] += 1;
    const start = () =>
      this.#ports.scheduler.run(claimantOf(request), () => {
        this.#waiting[claim] -= 1;
        if (!response.destroyed) this.#ports.begin(request, response);
      });
    if (claim === 'visitor') connectionBurst.whenOver(MAX_POSTPONED_MS, start);
    else start();
  };
}

function claimOf({ url, headers }: IncomingMessage): Claim {
  if (isProbe(url)) return 'probe';
  return headers.key === undefined && headers.cookie === undefined ? 'visitor' : 'caller';
}

/** Health and metrics requests are never shed: an orchestrator must not take a busy service for a dead one. */
export function isProbe(url: string | undefined): boolean {
  return url === '/healthz' || url === '/readyz' || url === '/metrics';
}

/** The claimed, unverified identity of the sender, used for fair queueing: key, cookie or address. */
export function claimantOf({ headers, socket }: IncomingMessage): string {
  return String(headers.key ?? headers.cookie ?? socket.remoteAddress);
}
