import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../clock.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { LockMode, Queries, Store } from '../../store/store.ts';
import type { RouteGroup } from '../auth/route-groups.ts';
import type { SessionCookie } from '../auth/session-cookie.ts';
import type { BodyReader } from '../body/read-body.ts';
import type { JsonSchema } from '../fields/field.ts';
import { type RequestSlots, visitorQuotaOwnerOf } from '../server/request-slots.ts';

/** A request to a public route, without an authenticated caller. */
export type PublicRequest = {
  readonly body: unknown;
  /** The client's IP address. */
  readonly clientIp: string;
  /** The `User-Agent` header. */
  readonly userAgent: string;
  /** The token in the session cookie; the session may have ended. */
  readonly sessionToken: string | undefined;
  readonly now: number;
  readonly queries: Queries;
  /** Runs a transaction in an account on behalf of a user. */
  runInAccount<T>(
    transactionOptions: { readonly accountId: number; readonly userId: number; readonly lockMode: LockMode },
    work: (write: AccountWrite) => Promise<T>,
  ): Promise<T>;
};

/** The result of a public route. `session` changes the session cookie: a new token, or `forgotten` to remove it. */
export type PublicResult = {
  readonly body: unknown;
  readonly session?: { readonly token: string; readonly ttlMs: number } | 'forgotten';
};

/** A route of the console without authentication, for signing in and out. Only pages of the console may call it. */
export type PublicRoute = {
  readonly method: 'POST' | 'DELETE';
  /** The path below `/console`. */
  readonly path: string;
  readonly description: string;
  readonly bodySchema: JsonSchema | undefined;
  run(request: PublicRequest): Promise<PublicResult>;
};

type PublicRouteDeps = {
  readonly store: Store;
  readonly clock: Clock;
  readonly cookie: SessionCookie;
  readonly bodyReader: Pick<BodyReader, 'read'>;
  readonly requestSlots: Pick<RequestSlots, 'acquireVisitorSlot' | 'releaseSlot'>;
};

/** Mounts the public routes of a route group. The group's check of the request's origin applies to them, too. */
export function mountPublicRoutes(
  app: FastifyInstance,
  routes: readonly PublicRoute[],
  group: RouteGroup,
  deps: PublicRouteDeps,
): void {
  const { store, clock, cookie, bodyReader, requestSlots } = deps;
  app.register(
    async (scopedApp) => {
      scopedApp.addHook('onRequest', async (request, reply) => {
        request.routeGroup = group;
        reply.headers(group.responseHeaders);
        const problem = group.findRequestProblem(request.raw);
        if (problem !== undefined) throw problem;
      });
      for (const route of routes) {
        scopedApp.route({
          method: route.method,
          url: route.path,
          handler: async (request, reply) => {
            const clientIp = request.ip;
            // Release the slot while the body arrives.
            requestSlots.releaseSlot(reply);
            const sender = { owner: visitorQuotaOwnerOf(request), isAuthenticated: false };
            const body = await bodyReader.read(request, reply, sender);
            requestSlots.acquireVisitorSlot(request, reply);
            const routeResult = await route.run({
              body: body?.value,
              clientIp,
              userAgent: request.headers['user-agent'] ?? '',
              sessionToken: cookie.readToken(request.raw),
              now: clock.now(),
              queries: store.read,
              runInAccount: ({ accountId, userId, lockMode }, work) =>
                store.write((tx) =>
                  work(new AccountWrite(tx, accountId, clock.now(), lockMode, { userId, keyId: 0, source: clientIp })),
                ),
            });
            // The request timeout may have sent a response already.
            if (reply.sent) return reply;
            const { session } = routeResult;
            if (session === 'forgotten') reply.header('set-cookie', cookie.createDeletionHeader());
            else if (session !== undefined)
              reply.header('set-cookie', cookie.createCookieHeader(session.token, session.ttlMs));
            return reply.type('application/json; charset=utf-8').send(JSON.stringify(routeResult.body));
          },
        });
      }
    },
    { prefix: '/console' },
  );
}
