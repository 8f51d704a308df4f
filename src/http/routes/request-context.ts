import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FairSemaphore } from '../../async/fair-semaphore.ts';
import type { Clock } from '../../clock.ts';
import type { Caller } from '../../permissions.ts';
import { AccountView } from '../../store/account-scope.ts';
import type { Store } from '../../store/store.ts';
import type { RateLimits } from '../auth/rate-limits.ts';
import type { RouteGroup } from '../auth/route-groups.ts';
import type { BodyReader, ParsedBody } from '../body/read-body.ts';
import type { FeedWaiters } from '../feed/waiters.ts';
import type { RequestSlots, ResponseCapacity } from '../server/request-slots.ts';
import { type findRepresentationRoute, type Preconditions, readPreconditions } from './etag.ts';
import { type IdempotentCall, type InProgressCalls, readIdempotencyKey } from './idempotency.ts';
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
  readonly representationRoute: ReturnType<typeof findRepresentationRoute>;
  readonly sendsEtag: boolean;
  readonly shownOnceFieldNames: readonly string[];
};

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

/** Creates the context of a request whose caller is authorized and whose body has been received. */
export function createRequestContext(
  parts: Omit<RequestContext, 'preconditions' | 'idempotentCall' | 'responseCapacity'>,
  hashWithPrefix: ParsedBody['hashWithPrefix'] | undefined,
): RequestContext {
  const { request, deps, caller, input } = parts;
  const { route } = parts.compiledRoute;
  return {
    ...parts,
    preconditions: route.supportsPreconditions ? readPreconditions(request.raw) : undefined,
    // Idempotency keys are scoped to an API key, so requests with a session have none (X4).
    idempotentCall:
      route.method === 'POST' && caller.keyId !== 0
        ? readIdempotencyKey(request.raw, route, caller, input, hashWithPrefix)
        : undefined,
    responseCapacity: deps.requestSlots.responseCapacityOf(request, caller, route.path),
  };
}

/** Returns a view of the account of a caller, outside of a transaction. */
export function createAccountView({ accountId }: Caller, { store, clock }: MountDeps): AccountView {
  return new AccountView(store.read, accountId, clock.now());
}
