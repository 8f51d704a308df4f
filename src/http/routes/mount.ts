import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FairSemaphore } from '../../async/fair-semaphore.ts';
import type { Clock } from '../../clock.ts';
import type { Caller, Permission } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { Store, Tx } from '../../store/store.ts';
import { requirePermission } from '../auth/authenticate.ts';
import { budgetOf, type RateBudget, type RateLimits } from '../auth/rate-limits.ts';
import { authenticateRequest, type RouteGroup } from '../auth/route-groups.ts';
import type { BodyReader, ParsedBody } from '../body/read-body.ts';
import { type FeedRouteDeps, respondWithFeed } from '../feed/follow-route.ts';
import type { FeedWaiters } from '../feed/waiters.ts';
import { parseId } from '../fields/field.ts';
import { quotaOwnerOf, type RequestSlots } from '../server/request-slots.ts';
import { MIN_LARGE_RESPONSE_BYTES } from '../server/response-sizes.ts';
import {
  etagOf,
  evaluatePreconditions,
  findRepresentationRoute,
  hasEtag,
  omitFields,
  type Preconditions,
  readPreconditions,
  requirePreconditions,
  shownOnceFieldNamesOf,
} from './etag.ts';
import {
  createFingerprintPrefix,
  findStoredResponse,
  type IdempotentCall,
  InProgressCalls,
  readIdempotencyKey,
  runOnce,
} from './idempotency.ts';
import { createLargePageSemaphore, sendListPage, serializePage } from './list-response.ts';
import type { RawQuery } from './query-parameters.ts';
import { idNamesOf, type Route, type RouteInput, type RouteResult } from './route.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; undefined before the authentication. */
    caller: Caller | undefined;
    /** The route group that the URL belongs to; undefined for other URLs. */
    routeGroup: RouteGroup | undefined;
  }
  interface FastifyContextConfig {
    /** The required permission; undefined if any key may call the route. */
    permission?: Permission | undefined;
    /** The rate-limit budget that a call of the route uses. */
    budget?: RateBudget;
  }
}

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

/** A route with precomputed properties, which depend on all routes of its group. */
type CompiledRoute = {
  readonly route: Route;
  /** The GET route to whose response the preconditions of a change apply. */
  readonly representationRoute: ReturnType<typeof findRepresentationRoute>;
  readonly sendsEtag: boolean;
  readonly shownOnceFieldNames: readonly string[];
};

/** The parsed headers of a request, and the limits that apply to its response. */
type RequestOptions = {
  /** The caller's IP address, for the audit log. */
  readonly clientIp: string;
  readonly preconditions: Preconditions | undefined;
  readonly idempotentCall: IdempotentCall | undefined;
  /**
   * Whether the quota of the caller's unread responses has capacity for a response as large as the last one of this
   * route.
   */
  readonly hasResponseCapacity: () => boolean;
  /** Throws `overloaded` if this quota has no capacity for such a response. */
  readonly requireResponseCapacity: () => void;
  /** Records the size of the response; throws `overloaded` if this quota has no capacity for a large response. */
  readonly beforeSending: (bytes: number) => void;
};

/** Mounts the routes of a group. Unauthenticated requests get 401, for unknown paths too (C1). */
export function mountRouteGroup(app: FastifyInstance, group: RouteGroup, deps: MountDeps): void {
  const { routes } = group;
  app.register(
    async (scopedApp) => {
      const authorizeRequest = (caller: Caller, request: FastifyRequest, reply: FastifyReply): void => {
        request.caller = caller;
        const { budget, permission } = request.routeOptions.config;
        // Rate-limit here: the caller is known and no work has been done.
        deps.rateLimits.countCall(caller, budget ?? 'reads', reply);
        // 404 takes precedence over all later problems (C4).
        if (request.is404) throw notFound();
        // Check the permission before the body is read (C2).
        requirePermission(caller, permission);
      };
      scopedApp.addHook('onRequest', (request, reply, done) => {
        request.routeGroup = group;
        reply.headers(group.responseHeaders);
        const caller = authenticateRequest(group, request.raw);
        if (caller instanceof Promise) {
          const releaseLookupSlot = deps.requestSlots.acquireLookupSlot(request, reply);
          caller
            .finally(releaseLookupSlot)
            .then((authenticatedCaller) => authorizeRequest(authenticatedCaller, request, reply))
            .then(() => done(), done);
          return;
        }
        authorizeRequest(caller, request, reply);
        done();
      });
      scopedApp.setNotFoundHandler(() => {
        throw notFound();
      });
      const inProgressCalls = new InProgressCalls();
      const largePageSemaphore = createLargePageSemaphore(deps.clock);
      for (const route of routes) {
        addRoute(scopedApp, compileRoute(route, routes), group, deps, inProgressCalls, largePageSemaphore);
      }
    },
    { prefix: group.prefix },
  );
}

function compileRoute(route: Route, routes: readonly Route[]): CompiledRoute {
  return {
    route,
    representationRoute: findRepresentationRoute(route, routes),
    sendsEtag: hasEtag(route, routes),
    shownOnceFieldNames: shownOnceFieldNamesOf(route),
  };
}

function addRoute(
  scopedApp: FastifyInstance,
  compiledRoute: CompiledRoute,
  group: RouteGroup,
  deps: MountDeps,
  inProgressCalls: InProgressCalls,
  largePageSemaphore: FairSemaphore<number>,
): void {
  const { route } = compiledRoute;
  const pathIdNames = idNamesOf(route.path);
  const respond = async (
    request: FastifyRequest,
    reply: FastifyReply,
    input: RouteInput,
    body: ParsedBody | undefined,
  ) => {
    const caller = requireCaller(request, group);
    deps.requestSlots.acquireCallerSlot(request, reply, caller);
    if (route.mode === 'follow') {
      return respondWithFeed(request, reply, caller, input, createFeedRouteDeps(request, reply, route, group, deps));
    }
    const requestOptions: RequestOptions = {
      clientIp: request.ip,
      preconditions: route.supportsPreconditions ? readPreconditions(request.raw) : undefined,
      // Idempotency keys are scoped to an API key, so requests with a session have none (X4).
      idempotentCall:
        route.method === 'POST' && caller.keyId !== 0
          ? readIdempotencyKey(request.raw, route, caller, input, body?.hashWithPrefix)
          : undefined,
      ...createCapacityChecks(request, route, caller, deps.requestSlots),
    };
    if (route.mode === 'steps') deps.requestSlots.releaseSlot(reply);
    const routeResult = await executeRoute(compiledRoute, caller, input, requestOptions, group, deps, inProgressCalls);
    if (routeResult.pendingPage !== undefined) {
      const isRequestOver = () => reply.sent || reply.raw.destroyed;
      const { accountId } = caller;
      const serializedPage = await serializePage(routeResult.pendingPage, {
        accountId,
        largePageSemaphore,
        isRequestOver,
        ...requestOptions,
      });
      requestOptions.beforeSending(serializedPage.body.length);
      return sendListPage(request, reply, serializedPage, deps.baseUrl() + group.prefix + route.path);
    }
    sendResult(reply, compiledRoute, requestOptions, routeResult, deps.baseUrl() + group.prefix);
    if (isRecordFetched(route, request, reply)) group.onRecordFetched?.(caller, route.path, input.ids);
    return reply;
  };
  scopedApp.route({
    method: route.method,
    url: route.path.replace(/\{(\w+)\}/g, ':$1'),
    config: { permission: route.permission, budget: budgetOf(route) },
    // Check the ids before the body is read: a malformed id is 404 (C4).
    onRequest: (request, _reply, done) => {
      parseIds(pathIdNames, request);
      done();
    },
    handler: async (request, reply) => {
      const ids = parseIds(pathIdNames, request);
      const query = request.query as RawQuery;
      if (route.method === 'GET') return respond(request, reply, { ids, query, body: undefined }, undefined);
      const body = await readBody(request, reply, route, ids, requireCaller(request, group), deps);
      const input = { ids, query, body: body?.value, textFile: body?.textFile };
      if (body?.textFile === undefined) return respond(request, reply, input, body);
      return respond(request, reply, input, body).finally(() => body.textFile?.close());
    },
  });
}

function readBody(
  request: FastifyRequest,
  reply: FastifyReply,
  route: Route,
  ids: RouteInput['ids'],
  caller: Caller,
  { bodyReader }: MountDeps,
): Promise<ParsedBody | undefined> | undefined {
  const sender = { owner: quotaOwnerOf(caller), isAuthenticated: true };
  if (route.streamedField === undefined) return bodyReader.read(request, reply, sender);
  return bodyReader.readWithStreamedField(
    request,
    reply,
    sender,
    route.streamedField,
    createFingerprintPrefix(route, ids),
  );
}

function createCapacityChecks(
  request: FastifyRequest,
  { path }: Route,
  caller: Caller,
  requestSlots: RequestSlots,
): Pick<RequestOptions, 'hasResponseCapacity' | 'requireResponseCapacity' | 'beforeSending'> {
  const { responseSizes } = requestSlots;
  const quotaOwner = quotaOwnerOf(caller);
  const getExpectedBytes = () => responseSizes.expectedBytesOf(caller.userId, path);
  const requireCapacity = (bytes: number) => requestSlots.requireResponseCapacity(request, quotaOwner, bytes);
  return {
    hasResponseCapacity: () => requestSlots.hasResponseCapacity(quotaOwner, getExpectedBytes()),
    requireResponseCapacity: () => requireCapacity(getExpectedBytes()),
    beforeSending(bytes) {
      responseSizes.recordSize(caller.userId, path, bytes);
      if (bytes >= MIN_LARGE_RESPONSE_BYTES) requireCapacity(bytes);
    },
  };
}

/** Whether the request was a GET of a single record with the response 200 or 304. */
function isRecordFetched(route: Route, request: FastifyRequest, reply: FastifyReply): boolean {
  return (
    route.mode === 'read' &&
    route.supportsPreconditions &&
    request.method === 'GET' &&
    [200, 304].includes(reply.statusCode)
  );
}

function createAccountView(caller: Caller, { store, clock }: MountDeps): AccountView {
  return new AccountView(store.read, caller.accountId, clock.now());
}

function createFeedRouteDeps(
  request: FastifyRequest,
  reply: FastifyReply,
  route: FeedRouteDeps['route'],
  group: RouteGroup,
  deps: MountDeps,
): FeedRouteDeps {
  return {
    route,
    feedWaiters: deps.feedWaiters,
    clock: deps.clock,
    createView: (caller) => createAccountView(caller, deps),
    async reauthenticate() {
      const caller = await authenticateRequest(group, request.raw);
      requirePermission(caller, route.permission);
      return caller;
    },
    releaseRequestSlot: () => deps.requestSlots.releaseSlot(reply),
    reportError: (error) => deps.reportError(request, error),
  };
}

async function executeRoute(
  compiledRoute: CompiledRoute,
  caller: Caller,
  input: RouteInput,
  requestOptions: RequestOptions,
  group: RouteGroup,
  deps: MountDeps,
  inProgressCalls: InProgressCalls,
): Promise<RouteResult> {
  const { route } = compiledRoute;
  if (route.mode === 'follow') throw new Error('a feed route is handled by respondWithFeed');
  if (route.mode === 'read') {
    const runRead = () => {
      // Check the capacity again: the caller may have received other responses while this read waited.
      requestOptions.requireResponseCapacity();
      return route.run(createAccountView(caller, deps), caller, input);
    };
    return route.bypassesReadLimit === true ? runRead() : deps.store.readWithLimit(runRead);
  }
  const { idempotentCall } = requestOptions;
  const executeWrite = () =>
    route.mode === 'steps'
      ? runInSteps(route, caller, input, requestOptions, group, deps)
      : runInTransaction(compiledRoute, route, caller, input, requestOptions, group, deps);
  if (idempotentCall === undefined) return executeWrite();
  // Replay a stored response without running the route (X4).
  return inProgressCalls.runExclusively(
    idempotentCall,
    async () => (await findStoredResponse(createAccountView(caller, deps), idempotentCall)) ?? executeWrite(),
  );
}

async function runInTransaction(
  { representationRoute, shownOnceFieldNames }: CompiledRoute,
  route: Extract<Route, { mode: 'write' }>,
  caller: Caller,
  input: RouteInput,
  { clientIp, preconditions, idempotentCall }: RequestOptions,
  group: RouteGroup,
  deps: MountDeps,
): Promise<RouteResult> {
  const { store, clock } = deps;
  const preparation = await route.prepare?.(caller, input, createAccountView(caller, deps), clientIp);
  const { accountId, userId } = caller;
  const mayEnqueue = !(await deps.isOverPendingQuota(accountId));
  const runWrite = async (tx: Tx) => {
    const write = new AccountWrite(tx, accountId, clock.now(), route.lockMode, { ...caller, source: clientIp });
    write.mayEnqueue = mayEnqueue;
    const runRoute = async () => {
      if (preconditions !== undefined && representationRoute !== undefined) {
        const { body } = await representationRoute.run(write, caller, input);
        requirePreconditions(preconditions, etagOf(JSON.stringify(body)));
      }
      return route.run(write, caller, input, preparation);
    };
    // These queries are pipelined: the permission check is sent first, and the first query of the route follows without
    // waiting for the result of the check.
    const reauthorizationPromise = group.reauthorize(tx, caller);
    const resultPromise =
      idempotentCall === undefined
        ? runRoute()
        : runOnce(tx, write, idempotentCall, route.status, runRoute, (body) => omitFields(shownOnceFieldNames, body));
    const [reauthorization, settledResult] = await Promise.allSettled([reauthorizationPromise, resultPromise]);
    if (reauthorization.status === 'rejected') throw reauthorization.reason;
    if (!reauthorization.value) throw new Problem(group.unauthenticatedProblemCode);
    if (settledResult.status === 'rejected') throw settledResult.reason;
    return settledResult.value;
  };
  return store.write(runWrite, { accountId, userId, lockMode: route.lockMode });
}

/** Runs a write in several transactions. Each one checks the permission again; the last one stores the response. */
async function runInSteps(
  route: Extract<Route, { mode: 'steps' }>,
  caller: Caller,
  input: RouteInput,
  { clientIp, idempotentCall }: RequestOptions,
  group: RouteGroup,
  deps: MountDeps,
): Promise<RouteResult> {
  const { store, clock } = deps;
  const { accountId, userId } = caller;
  const runStep = async <T>(work: (write: AccountWrite, tx: Tx) => Promise<T>) => {
    const mayEnqueue = !(await deps.isOverPendingQuota(accountId));
    return store.write(
      async (tx) => {
        const write = new AccountWrite(tx, accountId, clock.now(), 'exclusive', { ...caller, source: clientIp });
        write.mayEnqueue = mayEnqueue;
        if (!(await group.reauthorize(tx, caller))) throw new Problem(group.unauthenticatedProblemCode);
        return work(write, tx);
      },
      { accountId, userId, lockMode: 'exclusive' },
    );
  };
  const routeResult = await route.run({ view: createAccountView(caller, deps), write: runStep }, caller, input);
  if (idempotentCall === undefined) return routeResult;
  return runStep((write, tx) =>
    runOnce(
      tx,
      write,
      idempotentCall,
      route.status,
      async () => routeResult,
      (body) => body,
    ),
  );
}

function sendResult(
  reply: FastifyReply,
  { route, sendsEtag, shownOnceFieldNames }: CompiledRoute,
  { preconditions, beforeSending }: RequestOptions,
  routeResult: RouteResult,
  groupUrl: string,
): FastifyReply {
  // The request timeout may have sent a response already.
  if (reply.sent) return reply;
  if (routeResult.createdPath !== undefined) reply.header('location', groupUrl + routeResult.createdPath);
  if (routeResult.replayedStatus !== undefined) reply.header('idempotency-replayed', 'true');
  const bodyText = JSON.stringify(routeResult.body);
  if (sendsEtag) {
    const etag = etagOf(
      shownOnceFieldNames.length === 0 ? bodyText : JSON.stringify(omitFields(shownOnceFieldNames, routeResult.body)),
    );
    reply.header('etag', etag);
    if (route.mode === 'read') {
      // Allow only private caches, and only with revalidation.
      reply.header('cache-control', 'private, no-cache');
      const evaluation = preconditions === undefined ? 'holds' : evaluatePreconditions(preconditions, etag);
      if (evaluation === 'differs') throw new Problem('precondition_failed');
      if (evaluation === 'matched') return reply.code(304).send();
    }
  }
  // Encode a long text here, so that only its bytes stay in memory until the client has read them.
  const responseBody = bodyText.length < MIN_LARGE_RESPONSE_BYTES ? bodyText : Buffer.from(bodyText);
  beforeSending(responseBody.length);
  return reply
    .code(routeResult.replayedStatus ?? route.status)
    .type('application/json; charset=utf-8')
    .send(responseBody);
}

function parseIds(pathIdNames: readonly string[], request: FastifyRequest): Record<string, number> {
  const ids: Record<string, number> = {};
  for (const name of pathIdNames) {
    const id = parseId((request.params as Record<string, unknown>)[name]);
    if (id === undefined) throw notFound();
    ids[name] = id;
  }
  return ids;
}

function requireCaller(request: FastifyRequest, group: RouteGroup): Caller {
  if (request.caller === undefined) throw new Problem(group.unauthenticatedProblemCode);
  return request.caller;
}
