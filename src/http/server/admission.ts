import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { FairQueue } from '../../async/fair-queue.ts';
import type { Clock } from '../../clock.ts';

/**
 * Time per event-loop iteration for starting requests. Node accepts one connection per iteration, so long iterations
 * would keep new connections waiting for seconds.
 */
const ITERATION_BUDGET_MS = 2;

/**
 * The class of a request by its head alone: `probe` for health and metrics, `caller` with any key or cookie, valid or
 * not, `visitor` without one.
 */
export type Claim = 'probe' | 'caller' | 'visitor';

type Waiting = { readonly claim: Claim; readonly request: IncomingMessage; readonly response: ServerResponse };

export type AdmissionPorts = {
  readonly clock: Clock;
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
  readonly #queue = new FairQueue<Waiting>();
  readonly #waiting: Record<Claim, number> = { probe: 0, caller: 0, visitor: 0 };
  #iterationEndsAt: number | undefined;
  #isStarting = false;

  constructor(ports: AdmissionPorts) {
    this.#ports = ports;
  }

  readonly enter = (request: IncomingMessage, response: ServerResponse): void => {
    const claim = claimOf(request);
    if (!this.#ports.hasRoom(claim, this.#waiting[claim])) {
      this.#ports.shed(request, response, claim);
      return;
    }
    this.#queue.push(claimantOf(request), { claim, request, response });
    this.#waiting[claim] += 1;
    if (this.#isStarting) return;
    this.#isStarting = true;
    this.#startNext();
  };

  readonly #startNext = (): void => {
    const now = this.#ports.clock.monotonic();
    if (this.#iterationEndsAt === undefined) {
      this.#iterationEndsAt = now + ITERATION_BUDGET_MS;
      setImmediate(this.#endIteration);
    }
    const next = now < this.#iterationEndsAt ? this.#queue.shift() : undefined;
    this.#isStarting = next !== undefined;
    if (next === undefined) return;
    const { claim, request, response } = next;
    this.#waiting[claim] -= 1;
    if (!response.destroyed) this.#ports.begin(request, response);
    // Continue after the microtasks and ticks of this request, so that their time counts against the budget.
    queueMicrotask(() => process.nextTick(this.#startNext));
  };

  readonly #endIteration = (): void => {
    this.#iterationEndsAt = undefined;
    if (this.#queue.size === 0 || this.#isStarting) return;
    this.#isStarting = true;
    this.#startNext();
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
