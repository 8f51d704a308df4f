import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller, Permission } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import { budgetOf, type RateBudget } from '../auth/rate-limits.ts';
import { authenticateRequest, type RouteGroup, requirePermission } from '../auth/route-groups.ts';
import type { ParsedBody } from '../body/read-body.ts';
import { executeFollow } from '../feed/follow-route.ts';
import { parseId } from '../fields/field.ts';
import { quotaOwnerOf } from '../server/request-slots.ts';
import { executeRead, executeSteps, executeWrite } from './execute.ts';
import { createFingerprintPrefix, InProgressCalls, readIdempotencyKey } from './idempotency.ts';
import { createLargePageSemaphore } from './list-response.ts';
import type { RawQuery } from './query-parameters.ts';
import type { CompiledRoute, MountDeps, RequestContext, RouteGroupDeps } from './request-context.ts';
import { findRepresentationRoute, hasEtag, readPreconditions, shownOnceFieldNamesOf } from './respond.ts';
import { idNamesOf, type Route, type RouteInput } from './route.ts';

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

/** Mounts the routes of a group. Unauthenticated requests get 401, for unknown paths too (C1). */
export function mountRouteGroup(app: FastifyInstance, group: RouteGroup, mountDeps: MountDeps): void {
  const deps: RouteGroupDeps = {
    ...mountDeps,
    group,
    inProgressCalls: new InProgressCalls(),
    largePageSemaphore: createLargePageSemaphore(mountDeps.clock),
  };
  app.register(
    async (scopedApp) => {
      scopedApp.addHook('onRequest', (request, reply, done) => {
        request.routeGroup = group;
        reply.headers(group.responseHeaders);
        const caller = authenticateRequest(group, request.raw);
        if (caller instanceof Promise) {
          const releaseLookupSlot = deps.requestSlots.acquireLookupSlot(request, reply);
          caller
            .finally(releaseLookupSlot)
            .then((authenticatedCaller) => authorizeRequest(authenticatedCaller, request, reply, deps))
            .then(() => done(), done);
          return;
        }
        authorizeRequest(caller, request, reply, deps);
        done();
      });
      scopedApp.setNotFoundHandler(() => {
        throw notFound();
      });
      for (const route of group.routes) addRoute(scopedApp, compileRoute(route, group.routes), deps);
    },
    { prefix: group.prefix },
  );
}

/** Checks what needs no body: the rate limit, the path, and the permission. */
function authorizeRequest(caller: Caller, request: FastifyRequest, reply: FastifyReply, deps: RouteGroupDeps): void {
  request.caller = caller;
  const { budget, permission } = request.routeOptions.config;
  // Rate-limit here: the caller is known and no work has been done.
  deps.rateLimits.countCall(caller, budget ?? 'reads', reply);
  // 404 takes precedence over all later problems (C4).
  if (request.is404) throw notFound();
  // Check the permission before the body is read (C2).
  requirePermission(caller, permission);
}

function compileRoute(route: Route, routes: readonly Route[]): CompiledRoute {
  return {
    route,
    pathIdNames: idNamesOf(route.path),
    representationRoute: findRepresentationRoute(route, routes),
    sendsEtag: hasEtag(route, routes),
    shownOnceFieldNames: shownOnceFieldNamesOf(route),
  };
}

function addRoute(scopedApp: FastifyInstance, compiledRoute: CompiledRoute, deps: RouteGroupDeps): void {
  const { route, pathIdNames } = compiledRoute;
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
      const caller = requireCaller(request, deps.group);
      const ids = parseIds(pathIdNames, request);
      const body = route.method === 'GET' ? undefined : await readBody(request, reply, route, ids, caller, deps);
      const input = { ids, query: request.query as RawQuery, body: body?.value, textFile: body?.textFile };
      try {
        deps.requestSlots.acquireCallerSlot(request, reply, caller);
        const requestParts = { request, reply, compiledRoute, deps, caller, input };
        return await executeRoute(createRequestContext(requestParts, body?.hashWithPrefix));
      } finally {
        await body?.textFile?.close();
      }
    },
  });
}

/** Creates the context of a request whose caller is authorized and whose body has been received. */
function createRequestContext(
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

function executeRoute(context: RequestContext): Promise<FastifyReply> {
  const { route } = context.compiledRoute;
  switch (route.mode) {
    case 'read':
      return executeRead(context, route);
    case 'follow':
      return executeFollow(context, route);
    case 'write':
      return executeWrite(context, route);
    case 'steps':
      return executeSteps(context, route);
  }
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
