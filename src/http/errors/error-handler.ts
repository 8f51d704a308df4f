import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DeniedRequest } from '../../audit/denied-requests.ts';
import type { Clock } from '../../clock.ts';
import type { Rate } from '../../durations.ts';
import type { Log } from '../../log.ts';
import { notFound, Problem, type ProblemCode } from '../../problems.ts';
import { credentialsIn } from '../auth/authenticate.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import { authenticateRequest, type RouteGroup } from '../auth/route-groups.ts';
import { networkOf } from '../server/client-network.ts';
import { problemOf, sendProblem } from './problem-response.ts';
import { Tarpit } from './tarpit.ts';

/** How long a wrong key waits for its answer at the longest. */
const MAX_DELAY_MS = 10_000;

/** So many calls of an account that a limit refuses are answered at once; who asks on and on regardless waits up to a second. */
const LOGGED_DENIALS: Rate = { count: 20, windowS: 1 };

export type ErrorHandlerPorts = {
  readonly clock: Clock;
  readonly log: Log;
  readonly doors: readonly RouteGroup[];
  readonly limits: RateLimits;
  /** How many wrong keys an address may show before they wait for their answers. */
  readonly wrongKeys: Rate | undefined;
  readonly baseUrl: () => string;
  /** Hears of everybody who is refused for who they are. */
  readonly onDenied: (denied: DeniedRequest) => void;
  /** An answer waits, and is in nobody's way meanwhile. */
  readonly onDelay: (reply: FastifyReply) => void;
  /** The connection of an answer that waits takes no more requests meanwhile. */
  readonly holdBack: (response: ServerResponse) => void;
};

declare module 'fastify' {
  interface FastifyRequest {
    /** The problem it was answered with, for the log. */
    problem?: ProblemCode;
  }
}

/** How requests are refused: as which problem, how soon, and who hears of it. */
export class ErrorHandler {
  readonly #ports: ErrorHandlerPorts;
  readonly #unknownKeys: Tarpit<string>;
  readonly #limited: Tarpit<number>;

  constructor(ports: ErrorHandlerPorts) {
    const { clock, wrongKeys } = ports;
    this.#ports = ports;
    this.#unknownKeys = new Tarpit({ clock, rate: wrongKeys, maxDelayMs: MAX_DELAY_MS });
    this.#limited = new Tarpit({ clock, rate: LOGGED_DENIALS, maxDelayMs: 1_000 });
  }

  /** Nobody waits any more. */
  stop(): void {
    this.#unknownKeys.stop();
    this.#limited.stop();
  }

  /** Answers what a request has failed with; what is no problem of the caller's is logged and says nothing (C4). */
  async reject(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const problem = problemOf(error);
    this.#reportDenial(request, problem);
    await this.#delay(request, reply, problem);
    if (problem === undefined || problem.cause !== undefined) this.failed(request, problem?.cause ?? error);
    return this.send(reply, problem ?? new Problem('internal'));
  }

  /** An address that the router cannot read is behind a door, too: without a key it is 401, like any other (C1). */
  async rejectUnrouted(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    // A request line may hold the whole address; the router cuts the origin off, and so must we.
    const path = (request.raw.url ?? '').replace(/^https?:\/\/[^/]*/i, '');
    const door = this.#ports.doors.find(({ prefix }) => path.startsWith(prefix));
    request.door = door;
    let found: unknown = problemOf(error) ?? notFound();
    try {
      if (door !== undefined) {
        request.caller = await authenticateRequest(door, request.raw);
        this.#ports.limits.take(request.caller, 'reads', reply);
      }
    } catch (refused) {
      found = refused;
    }
    await this.reject(found, request, reply);
  }

  /** Answers a problem at once. */
  send(reply: FastifyReply, problem: Problem): FastifyReply {
    reply.request.problem = problem.code;
    return sendProblem(reply, problem, this.#ports.baseUrl());
  }

  failed(request: FastifyRequest, err: unknown): void {
    this.#ports.log.error({ event: 'request.failed', request_id: request.id, err });
  }

  /** Who shows wrong keys, or does not heed a limit, may have to wait for the refusal; in nobody's way meanwhile. */
  async #delay(request: FastifyRequest, reply: FastifyReply, problem: Problem | undefined): Promise<void> {
    const { onDelay, holdBack } = this.#ports;
    const waiting = (end: () => void) => {
      onDelay(reply);
      reply.raw.once('close', end);
    };
    if (problem?.code === 'rate_limited')
      await this.#limited.delay(request.caller?.accountId ?? request.ownerAccountId ?? 0, waiting);
    if (problem?.code === 'unauthorized' && credentialsIn(request.raw).key !== undefined) {
      const held = this.#unknownKeys.delay(networkOf(request.ip), waiting);
      if (held !== undefined) holdBack(reply.raw);
      await held;
    }
  }

  #reportDenial(request: FastifyRequest, problem: Problem | undefined): void {
    if (problem?.code !== 'unauthorized' && problem?.code !== 'not_permitted') return;
    const route = `${request.method} ${request.routeOptions.url ?? '(none)'}`;
    // Whoever was let in and is not known any more has lost the key meanwhile.
    const caller = problem.code === 'not_permitted' ? request.caller : undefined;
    this.#ports.onDenied({ route, source: request.ip, caller, shown: credentialsIn(request.raw) });
  }
}
