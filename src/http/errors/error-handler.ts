import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DeniedRequest } from '../../audit/denied-requests.ts';
import type { Clock } from '../../clock.ts';
import type { RequestRate } from '../../durations.ts';
import type { Log } from '../../log.ts';
import { notFound, Problem, type ProblemCode } from '../../problems.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import { authenticateRequest, type RouteGroup, readCredentials } from '../auth/route-groups.ts';
import { clientNetworkOf } from '../server/client-network.ts';
import { problemOf, sendProblem } from './problem-response.ts';
import { Tarpit } from './tarpit.ts';

/** Maximum delay of the response to a wrong key. */
const MAX_WRONG_KEY_DELAY_MS = 10_000;

/**
 * Rate of `rate_limited` responses per account. Up to this rate, they are sent without delay; above it, each response
 * is delayed by up to a second.
 */
const UNDELAYED_RATE: RequestRate = { count: 20, windowSeconds: 1 };

type ErrorHandlerDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly routeGroups: readonly RouteGroup[];
  readonly rateLimits: RateLimits;
  /** Rate of wrong keys per client network above which responses are delayed; undefined disables delays. */
  readonly wrongKeyRate: RequestRate | undefined;
  readonly baseUrl: () => string;
  /** Called for each request that is rejected for lack of authentication or permission. */
  readonly onDenied: (denial: DeniedRequest) => void;
  /** Called when a response is delayed, because a delayed request must not hold a request slot. */
  readonly onDelay: (reply: FastifyReply) => void;
  /** Pauses the connection of a delayed response: a client that sends another request is disconnected. */
  readonly pauseConnection: (response: ServerResponse) => void;
};

declare module 'fastify' {
  interface FastifyRequest {
    /** Problem code of the response, for the log. */
    problemCode?: ProblemCode;
  }
}

/** Turns errors into problem responses: delays repeated wrong keys, reports denials, logs internal errors. */
export class ErrorHandler {
  readonly #deps: ErrorHandlerDeps;
  readonly #wrongKeyTarpit: Tarpit<string>;
  readonly #rateLimitTarpit: Tarpit<number>;

  constructor(deps: ErrorHandlerDeps) {
    const { clock, wrongKeyRate } = deps;
    this.#deps = deps;
    this.#wrongKeyTarpit = new Tarpit({ clock, rate: wrongKeyRate, maxDelayMs: MAX_WRONG_KEY_DELAY_MS });
    this.#rateLimitTarpit = new Tarpit({ clock, rate: UNDELAYED_RATE, maxDelayMs: 1_000 });
  }

  /** Ends all delays, so that the delayed responses are sent now. */
  stop(): void {
    this.#wrongKeyTarpit.stop();
    this.#rateLimitTarpit.stop();
  }

  /** Responds to an error. An error that is not a problem is logged and sent as `internal` without details (C4). */
  async respondWithError(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const problem = problemOf(error);
    this.#reportDenial(request, problem);
    await this.#delayResponse(request, reply, problem);
    if (problem === undefined || problem.cause !== undefined) this.logFailure(request, problem?.cause ?? error);
    return this.sendProblemNow(reply, problem ?? new Problem('internal'));
  }

  /**
   * Responds to a request whose URL the router cannot parse. Authentication comes first: without a key the response is
   * 401 (C1).
   */
  async respondToUnroutedRequest(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    // The request target may be an absolute URL. Strip its origin, as the router does.
    const path = (request.raw.url ?? '').replace(/^https?:\/\/[^/]*/i, '');
    const group = this.#deps.routeGroups.find(({ prefix }) => path.startsWith(prefix));
    request.routeGroup = group;
    let errorToSend: unknown = problemOf(error) ?? notFound();
    try {
      if (group !== undefined) {
        request.caller = await authenticateRequest(group, request.raw);
        this.#deps.rateLimits.countCall(request.caller, 'reads', reply);
      }
    } catch (rejection) {
      errorToSend = rejection;
    }
    await this.respondWithError(errorToSend, request, reply);
  }

  /** Sends a problem without delay. */
  sendProblemNow(reply: FastifyReply, problem: Problem): FastifyReply {
    reply.request.problemCode = problem.code;
    return sendProblem(reply, problem, this.#deps.baseUrl());
  }

  logFailure(request: FastifyRequest, err: unknown): void {
    this.#deps.log.error({ event: 'request.failed', request_id: request.id, err });
  }

  /** Delays responses to wrong keys and to clients that ignore a rate limit. A delayed request holds no slot. */
  async #delayResponse(request: FastifyRequest, reply: FastifyReply, problem: Problem | undefined): Promise<void> {
    const { onDelay, pauseConnection } = this.#deps;
    const onWait = (endDelay: () => void) => {
      onDelay(reply);
      reply.raw.once('close', endDelay);
    };
    if (problem?.code === 'rate_limited')
      await this.#rateLimitTarpit.delay(request.caller?.accountId ?? request.ownerAccountId ?? 0, onWait);
    if (problem?.code === 'unauthorized' && readCredentials(request.raw).key !== undefined) {
      const delayPromise = this.#wrongKeyTarpit.delay(clientNetworkOf(request.ip), onWait);
      if (delayPromise !== undefined) pauseConnection(reply.raw);
      await delayPromise;
    }
  }

  #reportDenial(request: FastifyRequest, problem: Problem | undefined): void {
    if (problem?.code !== 'unauthorized' && problem?.code !== 'not_permitted') return;
    const route = `${request.method} ${request.routeOptions.url ?? '(none)'}`;
    // If `unauthorized` has a caller, its key was revoked while the request was processed. The denial is not attributed
    // to that key.
    const caller = problem.code === 'not_permitted' ? request.caller : undefined;
    this.#deps.onDenied({ route, source: request.ip, caller, credentials: readCredentials(request.raw) });
  }
}
