import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Caller, Permission } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { Store, Tx } from '../../store/store.ts';
import { requirePermission } from '../auth/authenticate.ts';
import { type Budget, budgetOf, type RateLimits } from '../auth/rate-limits.ts';
import { authenticateRequest, type RouteGroup } from '../auth/route-groups.ts';
import type { Bodies, Body } from '../body/read-body.ts';
import { type FollowPorts, respondWithFeed } from '../feed/follow-route.ts';
import type { FeedWaiters } from '../feed/waiters.ts';
import { parseId } from '../fields/field.ts';
import { ownerOf, type RequestSlots } from '../server/request-slots.ts';
import { MIN_LARGE_BYTES } from '../server/response-sizes.ts';
import {
  type Conditions,
  conditionsOf,
  etagOf,
  evaluatePreconditions,
  isTagged,
  omitFields,
  representationOf,
  requirePreconditions,
  shownOnceFields,
} from './etag.ts';
import {
  findStoredResponse,
  fingerprintPrefix,
  type IdempotentCall,
  InProgress,
  readIdempotencyKey,
  runOnce,
} from './idempotency.ts';
import { LargePages } from './large-page-slots.ts';
import { sendPage, serializePage } from './list-response.ts';
import type { RawQuery } from './query-parameters.ts';
import { type Input, idNames, type Route, type RouteResult } from './route.ts';

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
    budget?: Budget;
  }
}

export type MountPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly baseUrl: () => string;
  readonly followers: FeedWaiters;
  readonly limits: Pick<RateLimits, 'take'>;
  readonly bodies: Pick<Bodies, 'read' | 'readLong'>;
  readonly work: RequestSlots;
  /** Whether the account has reached its pending-delivery quota. */
  readonly isOverPendingQuota: (accountId: number) => boolean | Promise<boolean>;
  /** Reports an internal error after the response has started. */
  readonly failed: (request: FastifyRequest, error: unknown) => void;
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
  readonly conditions: Conditions | undefined;
  readonly once: IdempotentCall | undefined;
  /** Whether the caller's unread responses leave room for a response as large as the last one of this route. */
  readonly hasRoom: () => boolean;
  /** Throws `overloaded` if the caller's unread responses leave no room for such a response. */
  readonly mustHaveRoom: () => void;
  /** Records the size of the response; throws `overloaded` if there is no room for this many bytes. */
  readonly beforeSending: (bytes: number) => void;
};

/** Mounts the routes of a group. Unauthenticated requests get 401, for unknown paths too (C1). */
export function mount(app: FastifyInstance, group: RouteGroup, ports: MountPorts): void {
  const { rows: routes } = group;
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
          const end = ports.work.beginLookup(request, reply);
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
      const inProgress = new InProgress();
      const largePages = new LargePages(ports.clock);
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
    isTagged: isTagged(route, routes),
    shownOnce: shownOnceFields(route),
  };
}

function addRoute(
  scope: FastifyInstance,
  compiled: CompiledRoute,
  group: RouteGroup,
  ports: MountPorts,
  inProgress: InProgress,
  largePages: LargePages,
): void {
  const { route } = compiled;
  const names = idNames(route.path);
  const respond = async (request: FastifyRequest, reply: FastifyReply, input: Input, body: Body | undefined) => {
    const caller = requireCaller(request, group);
    ports.work.begin(request, reply, caller);
    if (route.mode === 'follow') {
      return respondWithFeed(request, reply, caller, input, followPorts(request, reply, route, group, ports));
    }
    const options: RequestOptions = {
      source: request.ip,
      conditions: route.conditional ? conditionsOf(request.raw) : undefined,
      // Idempotency keys are scoped to an API key, so requests with a session have none (X4).
      once:
        route.method === 'POST' && caller.keyId !== 0
          ? readIdempotencyKey(request.raw, route, caller, input, body?.hashWithPrefix)
          : undefined,
      ...roomFor(request, route, caller, ports.work),
    };
    if (route.mode === 'steps') ports.work.leave(reply);
    const result = await run(compiled, caller, input, options, group, ports, inProgress);
    if (result.listing !== undefined) {
      const isGone = () => reply.sent || reply.raw.destroyed;
      const { accountId } = caller;
      const page = await serializePage(result.listing, { accountId, largePages, isGone, ...options });
      options.beforeSending(page.body.length);
      return sendPage(request, reply, page, ports.baseUrl() + group.prefix + route.path);
    }
    send(reply, compiled, options, result, ports.baseUrl() + group.prefix);
    if (isFetch(route, request, reply)) group.onFetched?.(caller, route.path, input.ids);
    return reply;
  };
  scope.route({
    method: route.method,
    url: route.path.replace(/\{(\w+)\}/g, ':$1'),
    config: { permission: route.permission, budget: budgetOf(route) },
    // Check the ids before the body is read: a malformed id is 404 (C4).
    onRequest: (request, _reply, done) => {
      idsOf(names, request);
      done();
    },
    handler: async (request, reply) => {
      const ids = idsOf(names, request);
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
  ids: Input['ids'],
  caller: Caller,
  { bodies }: MountPorts,
): Promise<Body | undefined> | undefined {
  const sender = { owner: ownerOf(caller), isKnown: true };
  if (route.longField === undefined) return bodies.read(request, reply, sender);
  return bodies.readLong(request, reply, sender, route.longField, fingerprintPrefix(route, ids));
}

function roomFor(
  request: FastifyRequest,
  { path }: Route,
  caller: Caller,
  work: RequestSlots,
): Pick<RequestOptions, 'hasRoom' | 'mustHaveRoom' | 'beforeSending'> {
  const { sizes } = work;
  const owner = ownerOf(caller);
  const expected = () => sizes.expected(caller.userId, path);
  const mustHaveRoom = (bytes: number) => work.mustHaveRoom(request, owner, bytes);
  return {
    hasRoom: () => work.hasRoomToRead(owner, expected()),
    mustHaveRoom: () => mustHaveRoom(expected()),
    beforeSending(bytes) {
      sizes.note(caller.userId, path, bytes);
      if (bytes >= MIN_LARGE_BYTES) mustHaveRoom(bytes);
    },
  };
}

/** Whether the response to a GET of a single record was 200 or 304. */
function isFetch(route: Route, request: FastifyRequest, reply: FastifyReply): boolean {
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
    followers: ports.followers,
    clock: ports.clock,
    viewOf: (caller) => viewOf(caller, ports),
    async reauthenticate() {
      const caller = await authenticateRequest(group, request.raw);
      requirePermission(caller, route.permission);
      return caller;
    },
    excludeFromConcurrency: () => ports.work.leave(reply),
    failed: (error) => ports.failed(request, error),
  };
}

async function run(
  compiled: CompiledRoute,
  caller: Caller,
  input: Input,
  options: RequestOptions,
  group: RouteGroup,
  ports: MountPorts,
  inProgress: InProgress,
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
      : write(compiled, route, caller, input, options, group, ports);
  if (once === undefined) return change();
  // Replay a stored response without running the route (X4).
  return inProgress.run(once, async () => (await findStoredResponse(viewOf(caller, ports), once)) ?? change());
}

async function write(
  { representation, shownOnce }: CompiledRoute,
  route: Extract<Route, { mode: 'write' }>,
  caller: Caller,
  input: Input,
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
  return store.write(work, { accountId, how: route.lockMode });
}

/** Runs a write in several transactions. Each re-checks the permission; the response is stored in the last one. */
async function runInSteps(
  route: Extract<Route, { mode: 'steps' }>,
  caller: Caller,
  input: Input,
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
      { accountId, how: 'exclusive' },
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

function send(
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
  const bytes = text.length < MIN_LARGE_BYTES ? text : Buffer.from(text);
  beforeSending(bytes.length);
  return reply
    .code(result.repeats ?? route.status)
    .type('application/json; charset=utf-8')
    .send(bytes);
}

function idsOf(names: readonly string[], request: FastifyRequest): Record<string, number> {
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
