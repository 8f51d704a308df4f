import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { Problem } from '../problems.ts';
import { problemBody, RETRY_AFTER_S } from './answers.ts';
import type { Readable } from './cors.ts';

/** How often it is said in the log, while it goes on. */
const SAY_EVERY_MS = 1_000;

export type SheddingPorts = {
  readonly log: Log;
  readonly clock: Clock;
  readonly baseUrl: () => string;
  readonly onShed: () => void;
  readonly readable: Readable;
  /** Whether answers end their connections. */
  readonly isDraining: () => boolean;
};

/** Answers 503 to whoever there is no room for, with no more than it takes: one answer for all, one log line a second. */
export class Shedding {
  readonly #ports: SheddingPorts;
  #unsaid = 0;
  #cancel: (() => void) | undefined;
  #body = '';
  #bodyFor = '';

  constructor(ports: SheddingPorts) {
    this.#ports = ports;
  }

  readonly shed = (request: IncomingMessage, response: ServerResponse): void => {
    const body = this.#answer();
    // A 5xx may do without (RFC 9110, 6.6.1).
    response.sendDate = false;
    response.writeHead(503, {
      'content-type': 'application/problem+json',
      'content-length': body.length,
      'retry-after': String(RETRY_AFTER_S),
      ...this.#ports.readable(request),
      ...(this.#ports.isDraining() ? { connection: 'close' } : {}),
    });
    response.end(body);
    this.#ports.onShed();
    this.#unsaid += 1;
    this.#cancel ??= this.#ports.clock.after(SAY_EVERY_MS, () => this.say());
  };

  /** Says what was not said yet, and leaves no timer behind. */
  say(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#unsaid > 0) this.#ports.log.warn({ event: 'requests.shed', count: this.#unsaid });
    this.#unsaid = 0;
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
