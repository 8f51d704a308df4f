import type { FastifyReply, FastifyRequest } from 'fastify';
import { Quota, type QuotaOwner } from '../../async/quota.ts';
import { RunningTime } from '../../async/running-time.ts';
import type { Clock } from '../../clock.ts';
import type { Caller } from '../../permissions.ts';
import { claimedIdentityOf, markAsShed, type RequestClass } from './admission.ts';
import { clientNetworkOf } from './client-network.ts';
import type { ConnectionTracker } from './connections.ts';
import { MIN_LARGE_RESPONSE_BYTES, ResponseSizes, type UnreadResponseQuota } from './response-buffers.ts';

/** Minimum number of slots for unauthenticated requests. A client network gets a quarter of these slots. */
const MIN_VISITOR_SLOTS = 16;
/**
 * Minimum number of slots for requests whose callers are being looked up. A client network gets a quarter of these
 * slots.
 */
const MIN_LOOKUP_SLOTS = 1_000;
/** Maximum number of calendars that are streamed concurrently. An account gets a quarter of these slots. */
const MAX_CALENDAR_STREAMS = 128;

type RequestSlotsDeps = {
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
  readonly maxRequests: number;
  /** Responds to a request that has exceeded `requestTimeoutMs`. */
  readonly onRequestTimeout: (reply: FastifyReply) => void;
  readonly unreadResponseQuota: Pick<UnreadResponseQuota, 'hasCapacity'>;
  readonly connectionTracker: Pick<ConnectionTracker, 'findConnection' | 'runAfterResponse'>;
};

/** The quota of a caller's unread responses, for a response as large as the last one of the route. */
export type ResponseCapacity = {
  hasCapacity(): boolean;
  /** Throws `overloaded` if there is no capacity. */
  requireCapacity(): void;
  /** Records the size of the response; throws `overloaded` if there is no capacity for a large response. */
  beforeSending(bytes: number): void;
};

/**
 * Slots (semaphores) for requests in progress. There are separate pools for authenticated callers, visitors, caller
 * lookups and calendars. A request that waits for its body or for new feed entries holds no slot.
 */
export class RequestSlots {
  readonly #deps: RequestSlotsDeps;
  readonly #activeRequests: ActiveRequests;
  readonly #callerSlots: Quota;
  readonly #lookupSlots: Quota;
  /** Slots of requests that wait for another request's lookup of the same API key. */
  readonly #joinedLookupSlots: Quota;
  /** Requests whose caller is being looked up in the database, counted by the identity that they claim. */
  readonly #lookupCounts = new Map<string, number>();
  readonly #visitorSlots: Quota;
  readonly #responseSizes = new ResponseSizes();
  readonly #calendarSlots = new Quota({ maxTotal: MAX_CALENDAR_STREAMS, maxPerMember: MAX_CALENDAR_STREAMS / 4 });

  constructor(deps: RequestSlotsDeps) {
    const { maxRequests } = deps;
    const maxVisitors = Math.max(MIN_VISITOR_SLOTS, Math.ceil(maxRequests / 4));
    this.#deps = deps;
    this.#activeRequests = new ActiveRequests(deps.clock, deps.requestTimeoutMs, deps.onRequestTimeout);
    this.#callerSlots = new Quota({ maxTotal: maxRequests });
    const maxLookups = Math.max(MIN_LOOKUP_SLOTS, maxRequests);
    this.#lookupSlots = new Quota({ maxTotal: maxLookups, maxPerMember: Math.ceil(maxLookups / 4) });
    this.#joinedLookupSlots = new Quota({ maxTotal: 4 * maxLookups, maxPerMember: maxLookups });
    this.#visitorSlots = new Quota({ maxTotal: maxVisitors, maxPerMember: Math.ceil(maxVisitors / 4) });
  }

  /** Whether a request of this class may get a slot, given how many requests of the class are queued. */
  hasFreeSlot(requestClass: RequestClass, queuedCount: number): boolean {
    if (requestClass === 'probe') return true;
    return (requestClass === 'caller' ? this.#callerSlots : this.#visitorSlots).hasCapacity(ANY_OWNER, queuedCount + 1);
  }

  /** Takes a slot for a request to a public route. */
  acquireVisitorSlot(request: FastifyRequest, reply: FastifyReply): void {
    const owner = visitorQuotaOwnerOf(request);
    this.#acquireSlot(request, reply, this.#visitorSlots, owner, 'visitors');
    this.#requireResponseCapacity(request, owner);
  }

  /**
   * Takes a slot while the caller is looked up. Requests with the same key share one lookup, and are counted
   * separately.
   *
   * @returns a function that releases the slot
   */
  acquireLookupSlot(request: FastifyRequest, reply: FastifyReply): () => void {
    const claimedIdentity = claimedIdentityOf(request.raw);
    const lookupCount = this.#lookupCounts.get(claimedIdentity) ?? 0;
    if (lookupCount === 0)
      this.#acquireSlot(request, reply, this.#lookupSlots, visitorQuotaOwnerOf(request), 'visitors');
    else
      this.#acquireSlot(
        request,
        reply,
        this.#joinedLookupSlots,
        { group: 'lookups', member: claimedIdentity },
        'visitors',
      );
    this.#lookupCounts.set(claimedIdentity, lookupCount + 1);
    return () => {
      this.releaseSlot(reply);
      const remainingCount = (this.#lookupCounts.get(claimedIdentity) ?? 0) - 1;
      if (remainingCount > 0) this.#lookupCounts.set(claimedIdentity, remainingCount);
      else this.#lookupCounts.delete(claimedIdentity);
    };
  }

  /** Takes a slot for a request of an authenticated caller whose body is complete. */
  acquireCallerSlot(request: FastifyRequest, reply: FastifyReply, caller: Caller): void {
    const owner = quotaOwnerOf(caller);
    this.#acquireSlot(request, reply, this.#callerSlots, owner, 'requests');
    this.#requireResponseCapacity(request, owner);
  }

  /** Takes a slot for streaming a calendar until the response is sent. */
  acquireCalendarSlot(request: FastifyRequest, reply: FastifyReply, accountId: number): void {
    const owner = { group: 'calendars', member: `calendar ${accountId}` };
    this.releaseSlot(reply);
    if (!this.#calendarSlots.tryAcquire(owner)) throw markAsShed(request, 'visitors');
    this.#deps.connectionTracker.runAfterResponse(reply.raw, () => this.#calendarSlots.release(owner));
    this.#setResponseOwner(request, owner);
    this.#requireResponseCapacity(request, owner);
  }

  /** Releases the slot of a request that is answered, or that waits for its body or for feed entries. */
  releaseSlot(reply: FastifyReply): void {
    this.#activeRequests.release(reply);
  }

  close(): void {
    this.#activeRequests.close();
  }

  /** Returns the capacity for the next response of a route to this caller. */
  responseCapacityOf(request: FastifyRequest, caller: Caller, path: string): ResponseCapacity {
    const owner = quotaOwnerOf(caller);
    const getExpectedBytes = () => this.#responseSizes.expectedBytesOf(caller.userId, path);
    return {
      hasCapacity: () => this.#deps.unreadResponseQuota.hasCapacity(owner, getExpectedBytes()),
      requireCapacity: () => this.#requireResponseCapacity(request, owner, getExpectedBytes()),
      beforeSending: (bytes) => {
        this.#responseSizes.recordSize(caller.userId, path, bytes);
        if (bytes >= MIN_LARGE_RESPONSE_BYTES) this.#requireResponseCapacity(request, owner, bytes);
      },
    };
  }

  /** Throws `overloaded` if the owner has too many unread response bytes. */
  #requireResponseCapacity(request: FastifyRequest, owner: QuotaOwner, bytes = 0): void {
    if (!this.#deps.unreadResponseQuota.hasCapacity(owner, bytes)) throw markAsShed(request, 'response_bytes');
  }

  #acquireSlot(
    request: FastifyRequest,
    reply: FastifyReply,
    slots: Quota,
    owner: QuotaOwner,
    reason: 'requests' | 'visitors',
  ): void {
    this.#setResponseOwner(request, owner);
    this.#deps.connectionTracker.runAfterResponse(reply.raw, () => this.releaseSlot(reply));
    if (!this.#activeRequests.acquire(reply, slots, owner)) throw markAsShed(request, reason);
  }

  /** Charges the bytes of the response to this quota owner. */
  #setResponseOwner(request: FastifyRequest, owner: QuotaOwner): void {
    const connection = this.#deps.connectionTracker.findConnection(request.raw.socket);
    if (connection !== undefined) connection.responseOwner = owner;
  }
}

const ANY_OWNER: QuotaOwner = { group: '' };

/** Returns the quota owner of a caller: the user, in the group of the account. */
export function quotaOwnerOf({ accountId, userId }: Caller): QuotaOwner {
  return { group: accountId, member: userId };
}

/** Returns the quota owner of an unauthenticated request: a client network in the group of all such requests. */
export function visitorQuotaOwnerOf({ ip }: Pick<FastifyRequest, 'ip'>): QuotaOwner {
  return { group: 'visitors', member: clientNetworkOf(ip) };
}

const TIMEOUT_CHECK_INTERVAL_MS = 1_000;

type ActiveRequest = { readonly startedAtMs: number; readonly slots: Quota; readonly owner: QuotaOwner };

/**
 * Tracks requests in progress with their slots and timeouts. All timeouts are checked together once a second. They count
 * the running time of the process, so that a pause of the process ends no request.
 */
export class ActiveRequests {
  readonly #runningTime: RunningTime;
  readonly #timeoutMs: number;
  readonly #onTimeout: (reply: FastifyReply) => void;
  /** The requests in progress, oldest first. */
  readonly #requests = new Map<FastifyReply, ActiveRequest>();

  /** @param onTimeout responds to a request that has been in progress for more than `timeoutMs` */
  constructor(clock: Clock, timeoutMs: number, onTimeout: (reply: FastifyReply) => void) {
    this.#runningTime = new RunningTime(clock, TIMEOUT_CHECK_INTERVAL_MS, () => this.#checkTimeouts());
    this.#timeoutMs = timeoutMs;
    this.#onTimeout = onTimeout;
  }

  /**
   * Takes a slot for a request, and releases the slot that the request held before.
   *
   * @returns whether a slot was free
   */
  acquire(reply: FastifyReply, slots: Quota, owner: QuotaOwner): boolean {
    this.release(reply);
    if (!slots.tryAcquire(owner)) return false;
    this.#runningTime.start();
    this.#requests.set(reply, { startedAtMs: this.#runningTime.runningMsAtNextTick, slots, owner });
    return true;
  }

  /**
   * Releases the slot of a request and ends its timeout: the request is answered, or it waits for its body or for new
   * feed entries.
   */
  release(reply: FastifyReply): void {
    const activeRequest = this.#requests.get(reply);
    if (activeRequest === undefined) return;
    this.#requests.delete(reply);
    activeRequest.slots.release(activeRequest.owner);
  }

  close(): void {
    this.#runningTime.stop();
  }

  #checkTimeouts(): void {
    for (const [reply, { startedAtMs }] of this.#requests) {
      if (this.#runningTime.runningMs - startedAtMs < this.#timeoutMs) break;
      this.release(reply);
      if (!reply.sent) this.#onTimeout(reply);
    }
    if (this.#requests.size === 0) this.#runningTime.stop();
  }
}
