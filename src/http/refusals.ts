import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Denied } from '../audit/denials.ts';
import type { Clock } from '../clock.ts';
import type { Rate } from '../durations.ts';
import type { Log } from '../log.ts';
import { notFound, Problem, type ProblemCode } from '../problems.ts';
import { answerProblem, problemOf } from './answers.ts';
import { credentialsIn } from './auth.ts';
import { type Door, letIn } from './door.ts';
import { networkOf } from './network.ts';
import type { RateLimits } from './rate-limits.ts';
import { Slowdown } from './slowdown.ts';

/** How long a wrong key waits for its answer at the longest. */
const LONGEST_HELD_MS = 10_000;

/** So many calls of an account that a limit refuses are answered at once; who asks on and on regardless waits up to a second. */
const REFUSALS: Rate = { count: 20, windowS: 1 };

export type RefusalPorts = {
  readonly clock: Clock;
  readonly log: Log;
  readonly doors: readonly Door[];
  readonly limits: RateLimits;
  /** How many wrong keys an address may show before they wait for their answers. */
  readonly wrongKeys: Rate | undefined;
  readonly baseUrl: () => string;
  /** Hears of everybody who is refused for who they are. */
  readonly onDenied: (denied: Denied) => void;
  /** An answer waits, and is in nobody's way meanwhile. */
  readonly onWait: (reply: FastifyReply) => void;
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
export class Refusals {
  readonly #ports: RefusalPorts;
  readonly #strangers: Slowdown<string>;
  readonly #limited: Slowdown<number>;

  constructor(ports: RefusalPorts) {
    const { clock, wrongKeys } = ports;
    this.#ports = ports;
    this.#strangers = new Slowdown({ clock, rate: wrongKeys, longestMs: LONGEST_HELD_MS });
    this.#limited = new Slowdown({ clock, rate: REFUSALS, longestMs: 1_000 });
  }

  /** Nobody waits any more. */
  stop(): void {
    this.#strangers.stop();
    this.#limited.stop();
  }

  /** Answers what a request has failed with; what is no problem of the caller's is logged and says nothing (C4). */
  async refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const problem = problemOf(error);
    this.#tellDenial(request, problem);
    await this.#slowDown(request, reply, problem);
    if (problem === undefined || problem.cause !== undefined) this.failed(request, problem?.cause ?? error);
    return this.answer(reply, problem ?? new Problem('internal'));
  }

  /** An address that the router cannot read is behind a door, too: without a key it is 401, like any other (C1). */
  async refuseUnrouted(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    // A request line may hold the whole address; the router cuts the origin off, and so must we.
    const path = (request.raw.url ?? '').replace(/^https?:\/\/[^/]*/i, '');
    const door = this.#ports.doors.find(({ prefix }) => path.startsWith(prefix));
    request.door = door;
    let found: unknown = problemOf(error) ?? notFound();
    try {
      if (door !== undefined) {
        request.caller = await letIn(door, request.raw);
        this.#ports.limits.take(request.caller, 'reads', reply);
      }
    } catch (refused) {
      found = refused;
    }
    await this.refuse(found, request, reply);
  }

  /** Answers a problem at once. */
  answer(reply: FastifyReply, problem: Problem): FastifyReply {
    reply.request.problem = problem.code;
    return answerProblem(reply, problem, this.#ports.baseUrl());
  }

  failed(request: FastifyRequest, err: unknown): void {
    this.#ports.log.error({ event: 'request.failed', request_id: request.id, err });
  }

  /** Who shows wrong keys, or does not heed a limit, may have to wait for the refusal; in nobody's way meanwhile. */
  async #slowDown(request: FastifyRequest, reply: FastifyReply, problem: Problem | undefined): Promise<void> {
    const { onWait, holdBack } = this.#ports;
    const waiting = (end: () => void) => {
      onWait(reply);
      reply.raw.once('close', end);
    };
    if (problem?.code === 'rate_limited')
      await this.#limited.hold(request.caller?.accountId ?? request.ownerAccountId ?? 0, waiting);
    if (problem?.code === 'unauthorized' && credentialsIn(request.raw).key !== undefined) {
      const held = this.#strangers.hold(networkOf(request.ip), waiting);
      if (held !== undefined) holdBack(reply.raw);
      await held;
    }
  }

  #tellDenial(request: FastifyRequest, problem: Problem | undefined): void {
    if (problem?.code !== 'unauthorized' && problem?.code !== 'not_permitted') return;
    const route = `${request.method} ${request.routeOptions.url ?? '(none)'}`;
    // Whoever was let in and is not known any more has lost the key meanwhile.
    const caller = problem.code === 'not_permitted' ? request.caller : undefined;
    this.#ports.onDenied({ route, source: request.ip, caller, shown: credentialsIn(request.raw) });
  }
}
