import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { FairQueue } from '../../async/fair-queue.ts';
import type { Clock } from '../../clock.ts';

/**
 * How long requests are begun in one turn of the event loop. Only one connection is accepted in each, so that long
 * turns would keep newcomers out for seconds, unseen and unanswered.
 */
const ITERATION_BUDGET_MS = 2;

/**
 * What a request claims to be by its head alone: a probe of the machinery around the service, a caller who shows a key or
 * a session, whether it is good or not, or anybody else.
 */
export type Claim = 'probe' | 'caller' | 'visitor';

type Waiting = { readonly claim: Claim; readonly request: IncomingMessage; readonly response: ServerResponse };

export type AdmissionPorts = {
  readonly clock: Clock;
  /** Begins a request, and does of it what needs no waiting. */
  readonly begin: RequestListener;
  /** Whether there is room for one more, with this many of the same claim that wait to begin. */
  readonly hasRoom: (claim: Claim, waiting: number) => boolean;
  /** Answers a request that there is no room for. Everything else waits for it: it has to be cheap. */
  readonly shed: (request: IncomingMessage, response: ServerResponse, claim: Claim) => void;
};

/**
 * What every request passes first, when of it nothing but its head has been read: it begins at once, or when those
 * before it have begun, or is shed. Those who claim to be different callers take turns.
 */
export class AdmissionControl {
  readonly #ports: AdmissionPorts;
  readonly #queue = new FairQueue<Waiting>();
  readonly #waiting: Record<Claim, number> = { probe: 0, caller: 0, visitor: 0 };
  #turnEndsAt: number | undefined;
  #isBeginning = false;

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
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    this.#startNext();
  };

  readonly #startNext = (): void => {
    const now = this.#ports.clock.monotonic();
    if (this.#turnEndsAt === undefined) {
      this.#turnEndsAt = now + ITERATION_BUDGET_MS;
      setImmediate(this.#endTurn);
    }
    const next = now < this.#turnEndsAt ? this.#queue.shift() : undefined;
    this.#isBeginning = next !== undefined;
    if (next === undefined) return;
    const { claim, request, response } = next;
    this.#waiting[claim] -= 1;
    // Whoever went away meanwhile is not waited for.
    if (!response.destroyed) this.#ports.begin(request, response);
    // Once everything that this one set going has run, so that the time it takes is seen.
    queueMicrotask(() => process.nextTick(this.#startNext));
  };

  readonly #endTurn = (): void => {
    this.#turnEndsAt = undefined;
    if (this.#queue.size === 0 || this.#isBeginning) return;
    this.#isBeginning = true;
    this.#startNext();
  };
}

function claimOf({ url, headers }: IncomingMessage): Claim {
  if (isProbe(url)) return 'probe';
  return headers.key === undefined && headers.cookie === undefined ? 'visitor' : 'caller';
}

/** Whether it is asked for by the machinery around the service, which must not take it for dead when it is busy. */
export function isProbe(url: string | undefined): boolean {
  return url === '/healthz' || url === '/readyz' || url === '/metrics';
}

/** The name of the one who claims to send it, by which they wait in line. Whether that is so is not known yet. */
export function claimantOf({ headers, socket }: IncomingMessage): string {
  return String(headers.key ?? headers.cookie ?? socket.remoteAddress);
}
