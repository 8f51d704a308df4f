import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { Problem } from '../../problems.ts';
import { problemBody, RETRY_AFTER_S } from '../errors/problem-response.ts';
import type { CorsHeaders } from './cors.ts';
import { Tally } from './tally.ts';

/** The limit that a request was refused for with 503, as metrics name it. */
export type ShedReason = 'requests' | 'visitors' | 'request_bytes' | 'response_bytes';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set where it was refused for one of these limits: it is counted, and has no log line of its own. */
    shed?: ShedReason;
  }
}

/** The problem of a request that a limit of the service refuses. */
export function overloaded(request: FastifyRequest, reason: ShedReason): Problem {
  request.shed = reason;
  return new Problem('overloaded');
}

export type LoadSheddingPorts = {
  readonly log: Log;
  readonly clock: Clock;
  readonly baseUrl: () => string;
  readonly onShed: (reason: ShedReason) => void;
  readonly readable: CorsHeaders;
};

/** Answers 503 to whoever there is no room for, with no more than it takes: one answer for all, one log line a second. */
export class LoadShedding {
  readonly #ports: LoadSheddingPorts;
  readonly #tally: Tally<ShedReason>;
  #body = '';
  #bodyFor = '';

  constructor(ports: LoadSheddingPorts) {
    this.#ports = ports;
    this.#tally = new Tally(ports.clock, (reasons) => {
      const count = Object.values(reasons).reduce((sum, one) => sum + one, 0);
      ports.log.warn({ event: 'requests.shed', count, reasons });
    });
  }

  /** Refuses a request before the framework has it. */
  shed(request: IncomingMessage, response: ServerResponse, reason: ShedReason): void {
    const body = this.#answer();
    // A 5xx may do without (RFC 9110, 6.6.1).
    response.sendDate = false;
    response.writeHead(503, {
      'content-type': 'application/problem+json',
      'content-length': body.length,
      'retry-after': String(RETRY_AFTER_S),
      ...this.#ports.readable(request),
    });
    response.end(body);
    this.count(reason);
  }

  /** Counts a request that was refused. */
  count(reason: ShedReason): void {
    this.#ports.onShed(reason);
    this.#tally.count(reason);
  }

  /** Says what was not said yet, and leaves no timer behind. */
  logShed(): void {
    this.#tally.flush();
  }

  #answer(): string {
    const baseUrl = this.#ports.baseUrl();
    // Known once the service listens.
    if (this.#bodyFor !== baseUrl || this.#body === '') {
      this.#bodyFor = baseUrl;
      this.#body = JSON.stringify(problemBody(new Problem('overloaded'), baseUrl));
    }
    return this.#body;
  }
}
