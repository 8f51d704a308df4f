import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Caller, Permission } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { Store, Tx } from '../../store/store.ts';
import { requirePermission } from '../auth/authenticate.ts';
import { budgetOf, type RateBudget, type RateLimits } from '../auth/rate-limits.ts';
import { authenticateRequest, type RouteGroup } from '../auth/route-groups.ts';
import type { BodyReader, ParsedBody } from '../body/read-body.ts';
import { type FollowPorts, respondWithFeed } from '../feed/follow-route.ts';
import type { FeedWaiters } from '../feed/waiters.ts';
import { parseId } from '../fields/field.ts';
import { quotaOwnerOf, type RequestSlots } from '../server/request-slots.ts';
import { MIN_LARGE_RESPONSE_BYTES } from '../server/response-sizes.ts';
import {
  etagOf,
  evaluatePreconditions,
  hasEtag,
  omitFields,
  type Preconditions,
  preconditionsOf,
  representationOf,
  requirePreconditions,
  shownOnceFields,
} from './etag.ts';
import {
  findStoredResponse,
  fingerprintPrefix,
  type IdempotentCall,
  InProgressCalls,
  readIdempotencyKey,
  runOnce,
} from './idempotency.ts';
import { LargePageSlots } from './large-page-slots.ts';
import { sendPage, serializePage } from './list-response.ts';
import type { RawQuery } from './query-parameters.ts';
import { idNames, type Route, type RouteInput, type RouteResult } from './route.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller. */
    caller: Caller | undefined;
    /** The route group of the request. */
    routeGroup: RouteGroup | undefined;
  }
  interface FastifyContextConfig {
    /** The permission that the route requires. */
    permission?: Permission | undefined;
    budget?: RateBudget;
  }
}

export type MountPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly baseUrl: () => string;
  readonly feedWaiters: FeedWaiters;
  readonly limits: Pick<RateLimits, 'take'>;
  readonly bodies: Pick<BodyReader, 'read' | 'readLong'>;
  readonly requestSlots: RequestSlots;
  /** Whether the account has reached its pending-delivery quota. */
  readonly isOverPendingQuota: (accountId: number) => boolean | Promise<boolean>;
  /** Reports an internal error after the response has started. */
  readonly reportError: (request: FastifyRequest, error: unknown) => void;
};

/** A route, with properties that are derived once from all routes. */
type CompiledRoute = {
  readonly route: Route;
  /** The GET route to whose response the preconditions of a change apply. */
  readonly representation: ReturnType<typeof representationOf>;
  readonly isTagged: boolean;
  readonly shownOnce: readonly string[];
};

/** The parsed headers of a request, and the limits that apply to its response. */
type RequestOptions = {
  /** The caller's address, for the audit log. */
  readonly source: string;
  readonly conditions: Preconditions | undefined;
  readonly once: IdempotentCall | undefined;
  /** Whether the caller's unread responses leave room for a response as large as the last one of this route. */
  readonly hasRoom: () => boolean;
  /** Throws `overloaded` if the caller's unread responses leave no room for such a response. */
  readonly mustHaveRoom: () => void;
  /** Records the size of the response; throws `overloaded` if there is no room for this many bytes. */
  readonly beforeSending: (bytes: number) => void;
};

/** Mounts the routes of a group. Unauthenticated requests get 401, for unknown paths too (C1). */
export function mountRouteGroup(app: FastifyInstance, group: RouteGroup, ports: MountPorts): void {
  const { routes } = group;
  app.register(
    async (scope) => {
      const authorizeRequest = (caller: Caller, request: FastifyRequest, reply: FastifyReply): void => {
        request.caller = caller;
        const { budget, permission } = request.routeOptions.config;
        // Rate-limit here: the caller is known and no work has been done.
        ports.limits.take(caller, budget ?? 'reads', reply);
        // 404 takes precedence over all later problems (C4).
        if (request.is404) throw notFound();
        // Check the permission before the body is read (C2).
        requirePermission(caller, permission);
      };
      scope.addHook('onRequest', (request, reply, done) => {
        request.routeGroup = group;
        reply.headers(group.headers);
        const caller = authenticateRequest(group, request.raw);
        if (caller instanceof Promise) {
          const end = ports.requestSlots.beginLookup(request, reply);
          caller
            .finally(end)
            .then((found) => authorizeRequest(found, request, reply))
            .then(() => done(), done);
          return;
        }
        authorizeRequest(caller, request, reply);
        done();
      });
      scope.setNotFoundHandler(() => {
        throw notFound();
      });
      const inProgress = new InProgressCalls();
      const largePages = new LargePageSlots(ports.clock);
      for (const route of routes) {
        addRoute(scope, compileRoute(route, routes), group, ports, inProgress, largePages);
      }
    },
    { prefix: group.prefix },
  );
}

function compileRoute(route: Route, routes: readonly Route[]): CompiledRoute {
  return {
    route,
    representation: representationOf(route, routes),
    isTagged: hasEtag(route, routes),
    shownOnce: shownOnceFields(route),
  };
}

function addRoute(
  scope: FastifyInstance,
  compiled: CompiledRoute,
  group: RouteGroup,
  ports: MountPorts,
  inProgress: InProgressCalls,
  largePages: LargePageSlots,
): void {
  const { route } = compiled;
  const names = idNames(route.path);
  const respond = async (
    request: FastifyRequest,
    reply: FastifyReply,
    input: RouteInput,
    body: ParsedBody | undefined,
  ) => {
    const caller = requireCaller(request, group);
    ports.requestSlots.begin(request, reply, caller);
    if (route.mode === 'follow') {
      return respondWithFeed(request, reply, caller, input, followPorts(request, reply, route, group, ports));
    }
    const options: RequestOptions = {
      source: request.ip,
      conditions: route.conditional ? preconditionsOf(request.raw) : undefined,
      // Idempotency keys are scoped to an API key, so requests with a session have none (X4).
      once:
        route.method === 'POST' && caller.keyId !== 0
          ? readIdempotencyKey(request.raw, route, caller, input, body?.hashWithPrefix)
          : undefined,
      ...roomChecksFor(request, route, caller, ports.requestSlots),
    };
    if (route.mode === 'steps') ports.requestSlots.leave(reply);
    const result = await runRequest(compiled, caller, input, options, group, ports, inProgress);
    if (result.listing !== undefined) {
      const isGone = () => reply.sent || reply.raw.destroyed;
      const { accountId } = caller;
      const page = await serializePage(result.listing, { accountId, largePages, isGone, ...options });
      options.beforeSending(page.body.length);
      return sendPage(request, reply, page, ports.baseUrl() + group.prefix + route.path);
    }
    sendResult(reply, compiled, options, result, ports.baseUrl() + group.prefix);
    if (isRecordFetched(route, request, reply)) group.onFetched?.(caller, route.path, input.ids);
    return reply;
  };
  scope.route({
    method: route.method,
    url: route.path.replace(/\{(\w+)\}/g, ':$1'),
    config: { permission: route.permission, budget: budgetOf(route) },
    // Check the ids before the body is read: a malformed id is 404 (C4).
    onRequest: (request, _reply, done) => {
      parseIds(names, request);
      done();
    },
    handler: async (request, reply) => {
      const ids = parseIds(names, request);
      const query = request.query as RawQuery;
      if (route.method === 'GET') return respond(request, reply, { ids, query, body: undefined }, undefined);
      const body = await readBody(request, reply, route, ids, requireCaller(request, group), ports);
      const input = { ids, query, body: body?.value, text: body?.text };
      if (body?.text === undefined) return respond(request, reply, input, body);
      return respond(request, reply, input, body).finally(() => body.text?.close());
    },
  });
}

function readBody(
  request: FastifyRequest,
  reply: FastifyReply,
  route: Route,
  ids: RouteInput['ids'],
  caller: Caller,
  { bodies }: MountPorts,
): Promise<ParsedBody | undefined> | undefined {
  const sender = { owner: quotaOwnerOf(caller), isKnown: true };
  if (route.longField === undefined) return bodies.read(request, reply, sender);
  return bodies.readLong(request, reply, sender, route.longField, fingerprintPrefix(route, ids));
}

function roomChecksFor(
  request: FastifyRequest,
  { path }: Route,
  caller: Caller,
  work: RequestSlots,
): Pick<RequestOptions, 'hasRoom' | 'mustHaveRoom' | 'beforeSending'> {
  const { sizes } = work;
  const owner = quotaOwnerOf(caller);
  const expected = () => sizes.expectedBytes(caller.userId, path);
  const mustHaveRoom = (bytes: number) => work.mustHaveRoom(request, owner, bytes);
  return {
    hasRoom: () => work.hasRoomForResponse(owner, expected()),
    mustHaveRoom: () => mustHaveRoom(expected()),
    beforeSending(bytes) {
      sizes.record(caller.userId, path, bytes);
      if (bytes >= MIN_LARGE_RESPONSE_BYTES) mustHaveRoom(bytes);
    },
  };
}

/** Whether the response to a GET of a single record was 200 or 304. */
function isRecordFetched(route: Route, request: FastifyRequest, reply: FastifyReply): boolean {
  return (
    route.mode === 'read' && route.conditional && request.method === 'GET' && [200, 304].includes(reply.statusCode)
  );
}

function viewOf(caller: Caller, { store, clock }: MountPorts): AccountView {
  return new AccountView(store.read, caller.accountId, clock.now());
}

function followPorts(
  request: FastifyRequest,
  reply: FastifyReply,
  route: FollowPorts['row'],
  group: RouteGroup,
  ports: MountPorts,
): FollowPorts {
  return {
    row: route,
    feedWaiters: ports.feedWaiters,
    clock: ports.clock,
    viewOf: (caller) => viewOf(caller, ports),
    async reauthenticate() {
      const caller = await authenticateRequest(group, request.raw);
      requirePermission(caller, route.permission);
      return caller;
    },
    excludeFromConcurrency: () => ports.requestSlots.leave(reply),
    reportError: (error) => ports.reportError(request, error),
  };
}

async function runRequest(
  compiled: CompiledRoute,
  caller: Caller,
  input: RouteInput,
  options: RequestOptions,
  group: RouteGroup,
  ports: MountPorts,
  inProgress: InProgressCalls,
): Promise<RouteResult> {
  const { route } = compiled;
  if (route.mode === 'follow') throw new Error('a feed route is handled by respondWithFeed');
  if (route.mode === 'read') {
    const read = () => {
      // Check the room again: the caller may have received other responses while this read waited.
      options.mustHaveRoom();
      return route.run(viewOf(caller, ports), caller, input);
    };
    return route.bypassesReadLimit === true ? read() : ports.store.limitedRead(read);
  }
  const { once } = options;
  const change = () =>
    route.mode === 'steps'
      ? runInSteps(route, caller, input, options, group, ports)
      : runInTransaction(compiled, route, caller, input, options, group, ports);
  if (once === undefined) return change();
  // Replay a stored response without running the route (X4).
  return inProgress.run(once, async () => (await findStoredResponse(viewOf(caller, ports), once)) ?? change());
}

async function runInTransaction(
  { representation, shownOnce }: CompiledRoute,
  route: Extract<Route, { mode: 'write' }>,
  caller: Caller,
  input: RouteInput,
  { source, conditions, once }: RequestOptions,
  group: RouteGroup,
  ports: MountPorts,
): Promise<RouteResult> {
  const { store, clock } = ports;
  const prepared = await route.prepare?.(caller, input, viewOf(caller, ports), source);
  const { accountId } = caller;
  const mayEnqueue = !(await ports.isOverPendingQuota(accountId));
  const work = async (tx: Tx) => {
    const write = new AccountWrite(tx, accountId, clock.now(), route.lockMode, { ...caller, source });
    write.mayEnqueue = mayEnqueue;
    const runRoute = async () => {
      if (conditions !== undefined && representation !== undefined) {
        const { body } = await representation.run(write, caller, input);
        requirePreconditions(conditions, etagOf(JSON.stringify(body)));
      }
      return route.run(write, caller, input, prepared);
    };
    // Pipelined: the permission check is sent first, and the first query of the route follows without waiting for its
    // result.
    const reauthorizing = group.reauthorize(tx, caller);
    const running =
      once === undefined
        ? runRoute()
        : runOnce(tx, write, once, route.status, runRoute, (body) => omitFields(shownOnce, body));
    const [authorized, result] = await Promise.allSettled([reauthorizing, running]);
    if (authorized.status === 'rejected') throw authorized.reason;
    if (!authorized.value) throw new Problem(group.unauthenticatedProblem);
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  };
  return store.write(work, { accountId, lockMode: route.lockMode });
}

/** Runs a write in several transactions. Each re-checks the permission; the response is stored in the last one. */
async function runInSteps(
  route: Extract<Route, { mode: 'steps' }>,
  caller: Caller,
  input: RouteInput,
  { source, once }: RequestOptions,
  group: RouteGroup,
  ports: MountPorts,
): Promise<RouteResult> {
  const { store, clock } = ports;
  const { accountId } = caller;
  const inTransaction = async <T>(work: (write: AccountWrite, tx: Tx) => Promise<T>) => {
    const mayEnqueue = !(await ports.isOverPendingQuota(accountId));
    return store.write(
      async (tx) => {
        const write = new AccountWrite(tx, accountId, clock.now(), 'exclusive', { ...caller, source });
        write.mayEnqueue = mayEnqueue;
        if (!(await group.reauthorize(tx, caller))) throw new Problem(group.unauthenticatedProblem);
        return work(write, tx);
      },
      { accountId, lockMode: 'exclusive' },
    );
  };
  const result = await route.run({ view: viewOf(caller, ports), write: inTransaction }, caller, input);
  if (once === undefined) return result;
  return inTransaction((write, tx) =>
    runOnce(
      tx,
      write,
      once,
      route.status,
      async () => result,
      (body) => body,
    ),
  );
}

function sendResult(
  reply: FastifyReply,
  { route, isTagged, shownOnce }: CompiledRoute,
  { conditions, beforeSending }: RequestOptions,
  result: RouteResult,
  base: string,
): FastifyReply {
  // The request timeout may have sent a response already.
  if (reply.sent) return reply;
  if (result.created !== undefined) reply.header('location', base + result.created);
  if (result.repeats !== undefined) reply.header('idempotency-replayed', 'true');
  const text = JSON.stringify(result.body);
  if (isTagged) {
    const tag = etagOf(shownOnce.length === 0 ? text : JSON.stringify(omitFields(shownOnce, result.body)));
    reply.header('etag', tag);
    if (route.mode === 'read') {
      // Allow only private caches, and only with revalidation.
      reply.header('cache-control', 'private, no-cache');
      const evaluation = conditions === undefined ? 'holds' : evaluatePreconditions(conditions, tag);
      if (evaluation === 'differs') throw new Problem('precondition_failed');
      if (evaluation === 'matched') return reply.code(304).send();
    }
  }
  // Encode a long text here, so that only its bytes stay in memory until the client has read them.
  const bytes = text.length < MIN_LARGE_RESPONSE_BYTES ? text : Buffer.from(text);
  beforeSending(bytes.length);
  return reply
    .code(result.repeats ?? route.status)
    .type('application/json; charset=utf-8')
    .send(bytes);
}

function parseIds(names: readonly string[], request: FastifyRequest): Record<string, number> {
  const ids: Record<string, number> = {};
  for (const name of names) {
    const id = parseId((request.params as Record<string, unknown>)[name]);
    if (id === undefined) throw notFound();
    ids[name] = id;
  }
  return ids;
}

function requireCaller(request: FastifyRequest, group: RouteGroup): Caller {
  if (request.caller === undefined) throw new Problem(group.unauthenticatedProblem);
  return request.caller;
}
