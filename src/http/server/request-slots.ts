import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Owner, Quota } from '../../async/quota.ts';
import type { Clock } from '../../clock.ts';
import type { Caller } from '../../permissions.ts';
import { ActiveRequests } from './active-requests.ts';
import { type Claim, claimantOf } from './admission.ts';
import { networkOf } from './client-network.ts';
import type { ConnectionState } from './connections.ts';
import { overloaded } from './load-shedding.ts';
import { ResponseSizes } from './response-sizes.ts';
import type { ResponseBuffers } from './unread-responses.ts';

/** Callers without an account, and calendar programs, have places of their own: fewer, and a quarter for each. */
const MIN_VISITORS = 16;
const MIN_LOOKUPS = 1_000;
const MAX_CALENDARS = 128;

export type WorkPorts = {
  readonly clock: Clock;
  readonly answerMs: number;
  readonly maxRequests: number;
  /** Answers a request that has been worked on for too long. */
  readonly giveUp: (reply: FastifyReply) => void;
  readonly buffers: Pick<ResponseBuffers, 'hasRoom'>;
  readonly connections: () => Pick<ConnectionState, 'of' | 'whenOver'>;
};

/**
 * Places for requests that are worked on. Those of callers who are known are taken by nobody else; a request that waits,
 * for its body or for something to happen, takes none.
 */
export class Work {
  readonly #ports: WorkPorts;
  readonly #underWay: ActiveRequests;
  readonly #requests: Quota;
  readonly #lookups: Quota;
  /** Requests whose key is being looked up for another request. */
  readonly #joinedLookups: Quota;
  /** The number of requests that wait for each lookup, by the key that they show. */
  readonly #lookingUp = new Map<string, number>();
  readonly #visitors: Quota;
  readonly sizes = new ResponseSizes();
  readonly #calendars = new Quota({ total: MAX_CALENDARS, member: MAX_CALENDARS / 4 });

  constructor(ports: WorkPorts) {
    const { maxRequests } = ports;
    const maxVisitors = Math.max(MIN_VISITORS, Math.ceil(maxRequests / 4));
    this.#ports = ports;
    this.#underWay = new ActiveRequests(ports.clock, ports.answerMs, ports.giveUp);
    this.#requests = new Quota({ total: maxRequests });
    const maxLookups = Math.max(MIN_LOOKUPS, maxRequests);
    this.#lookups = new Quota({ total: maxLookups, member: Math.ceil(maxLookups / 4) });
    this.#joinedLookups = new Quota({ total: 4 * maxLookups, member: maxLookups });
    this.#visitors = new Quota({ total: maxVisitors, member: Math.ceil(maxVisitors / 4) });
  }

  /** Whether there may be room for a request that claims this, with as many that wait to begin. */
  hasRoom(claim: Claim, waiting: number): boolean {
    if (claim === 'probe') return true;
    return (claim === 'caller' ? this.#requests : this.#visitors).hasRoom(NOBODY, waiting + 1);
  }

  /** Somebody who need not be known is served from here on. */
  beginVisit(request: FastifyRequest, reply: FastifyReply): void {
    const owner = visitorOf(request);
    this.#enter(request, reply, this.#visitors, owner, 'visitors');
    this.mustHaveRoom(request, owner);
  }

  /**
   * The caller is being looked up. Requests that show the same key while it is looked up wait for the same answer: they take
   * no place from others.
   *
   * @returns ends it
   */
  beginLookup(request: FastifyRequest, reply: FastifyReply): () => void {
    const claimant = claimantOf(request.raw);
    const count = this.#lookingUp.get(claimant) ?? 0;
    if (count === 0) this.#enter(request, reply, this.#lookups, visitorOf(request), 'visitors');
    else this.#enter(request, reply, this.#joinedLookups, { group: 'lookups', member: claimant }, 'visitors');
    this.#lookingUp.set(claimant, count + 1);
    return () => {
      this.leave(reply);
      const left = (this.#lookingUp.get(claimant) ?? 0) - 1;
      if (left > 0) this.#lookingUp.set(claimant, left);
      else this.#lookingUp.delete(claimant);
    };
  }

  /** A request of a caller is complete, and worked on from here on. */
  begin(request: FastifyRequest, reply: FastifyReply, caller: Caller): void {
    const owner = ownerOf(caller);
    this.#enter(request, reply, this.#requests, owner, 'requests');
    this.mustHaveRoom(request, owner);
  }

  /** A calendar is sent, piece by piece. */
  beginCalendar(request: FastifyRequest, reply: FastifyReply, accountId: number): void {
    const owner = { group: 'calendars', member: `calendar ${accountId}` };
    this.leave(reply);
    if (!this.#calendars.take(owner)) throw overloaded(request, 'visitors');
    this.#ports.connections().whenOver(reply.raw, () => this.#calendars.give(owner));
    this.#charge(request, owner);
    this.mustHaveRoom(request, owner);
  }

  /** A request has its answer, or waits. */
  leave(reply: FastifyReply): void {
    this.#underWay.exclude(reply);
  }

  close(): void {
    this.#underWay.close();
  }

  /** Whether an owner leaves little enough unread to be sent so many bytes more. */
  hasRoomToRead(owner: Owner, bytes: number): boolean {
    return this.#ports.buffers.hasRoom(owner, bytes);
  }

  /** Refuses a request of an owner for whom that is not so. */
  mustHaveRoom(request: FastifyRequest, owner: Owner, bytes = 0): void {
    if (!this.hasRoomToRead(owner, bytes)) throw overloaded(request, 'response_bytes');
  }

  #enter(
    request: FastifyRequest,
    reply: FastifyReply,
    places: Quota,
    owner: Owner,
    reason: 'requests' | 'visitors',
  ): void {
    this.#charge(request, owner);
    this.#ports.connections().whenOver(reply.raw, () => this.leave(reply));
    if (!this.#underWay.enter(reply, places, owner)) throw overloaded(request, reason);
  }

  /** The bytes of the response count for this owner. */
  #charge(request: FastifyRequest, owner: Owner): void {
    const connection = this.#ports.connections().of(request.raw.socket);
    if (connection !== undefined) connection.owner = owner;
  }
}

const NOBODY: Owner = { group: '' };

/** An account has a share, and a user of it a share of that. */
export function ownerOf({ accountId, userId }: Caller): Owner {
  return { group: accountId, member: userId };
}

/** All who are not known have one share, and a network a share of that. */
export function visitorOf({ ip }: Pick<FastifyRequest, 'ip'>): Owner {
  return { group: 'visitors', member: networkOf(ip) };
}
