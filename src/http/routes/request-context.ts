import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FairSemaphore } from '../../async/fair-semaphore.ts';
import type { Clock } from '../../clock.ts';
import type { Caller } from '../../permissions.ts';
import type { Store } from '../../store/store.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import type { RouteGroup } from '../auth/route-groups.ts';
import type { BodyReader } from '../body/read-body.ts';
import type { FeedWaiters } from '../feed/waiters.ts';
import type { RequestSlots, ResponseCapacity } from '../server/request-slots.ts';
import type { IdempotentCall, InProgressCalls } from './idempotency.ts';
import type { Route, RouteInput } from './route.ts';

/** Dependencies of the routes of all groups. */
export type MountDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly baseUrl: () => string;
  readonly feedWaiters: FeedWaiters;
  readonly rateLimits: Pick<RateLimits, 'countCall'>;
  readonly bodyReader: Pick<BodyReader, 'read' | 'readWithStreamedField'>;
  readonly requestSlots: RequestSlots;
  /** Whether the account has reached its pending-delivery quota. */
  readonly isOverPendingQuota: (accountId: number) => boolean | Promise<boolean>;
  /** Reports an internal error after the response has started. */
  readonly reportError: (request: FastifyRequest, error: unknown) => void;
};

/** Dependencies of the routes of one group. */
export type RouteGroupDeps = MountDeps & {
  readonly group: RouteGroup;
  readonly inProgressCalls: InProgressCalls;
  /** Limits the large pages that are loaded concurrently, by account. */
  readonly largePageSemaphore: FairSemaphore<number>;
};

/** A route with precomputed properties, which depend on all routes of its group. */
export type CompiledRoute = {
  readonly route: Route;
  readonly pathIdNames: readonly string[];
  /** The GET route to whose response the preconditions of a change apply. */
  readonly representationRoute: Extract<Route, { mode: 'read' }> | undefined;
  readonly sendsEtag: boolean;
  readonly shownOnceFieldNames: readonly string[];
};

/** An entity tag of a header list: the quoted opaque tag, and whether it has the prefix `W/`. */
export type EntityTag = { readonly opaque: string; readonly isWeak: boolean };

/** The value of If-Match or If-None-Match: `*` for any representation, or a list of tags. */
export type EntityTags = '*' | readonly EntityTag[];

/** The preconditions of a request (RFC 9110, 13.1). */
export type Preconditions = { readonly ifMatch: EntityTags | undefined; readonly ifNoneMatch: EntityTags | undefined };

/** The parts of one request that its execution and its response need. */
export type RequestContext = {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly compiledRoute: CompiledRoute;
  readonly deps: RouteGroupDeps;
  readonly caller: Caller;
  readonly input: RouteInput;
  readonly preconditions: Preconditions | undefined;
  readonly idempotentCall: IdempotentCall | undefined;
  readonly responseCapacity: ResponseCapacity;
};
