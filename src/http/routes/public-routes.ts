import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../clock.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { LockMode, Queries, Store } from '../../store/store.ts';
import type { RouteGroup } from '../auth/route-groups.ts';
import type { SessionCookie } from '../auth/session-cookie.ts';
import type { Bodies } from '../body/read-body.ts';
import type { JsonSchema } from '../fields/field.ts';
import { visitorOf, type Work } from '../server/request-slots.ts';

/** What reaches an open address: nobody is known yet. */
export type PublicRequest = {
  readonly body: unknown;
  /** The visitor's address, and what browser it says it is. */
  readonly source: string;
  readonly agent: string;
  /** The token of the session that the browser has; it may have ended. */
  readonly token: string | undefined;
  readonly now: number;
  readonly read: Queries;
  /** A transaction within one account, of a user of it. */
  within<T>(
    where: { readonly accountId: number; readonly userId: number; readonly holding: LockMode },
    work: (write: AccountWrite) => Promise<T>,
  ): Promise<T>;
};

/** What an open address answers, and what becomes of the browser's session: another one, or none any more. */
export type PublicResult = {
  readonly body: unknown;
  readonly session?: { readonly token: string; readonly lifeMs: number } | 'forgotten';
};

/** An address of the console that is open to whoever comes from its pages: how one gets in, and out. */
export type PublicRoute = {
  readonly method: 'POST' | 'DELETE';
  /** Below `/console`. */
  readonly path: string;
  readonly says: string;
  readonly body: JsonSchema | undefined;
  run(visit: PublicRequest): Promise<PublicResult>;
};

export type PublicRoutePorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly cookie: SessionCookie;
  readonly bodies: Pick<Bodies, 'read'>;
  readonly work: Pick<Work, 'beginVisit' | 'leave'>;
};

/** Mounts the open addresses of a door beside it: what the door refuses, whoever sends it, they refuse, too. */
export function mountPublicRoutes(
  app: FastifyInstance,
  rows: readonly PublicRoute[],
  door: RouteGroup,
  ports: PublicRoutePorts,
): void {
  const { store, clock, cookie, bodies, work } = ports;
  app.register(
    async (scope) => {
      scope.addHook('onRequest', async (request, reply) => {
        request.door = door;
        reply.headers(door.headers);
        const refused = door.refuse(request.raw);
        if (refused !== undefined) throw refused;
      });
      for (const row of rows) {
        scope.route({
          method: row.method,
          url: row.path,
          handler: async (request, reply) => {
            const source = request.ip;
            // While it waits for its body it takes no place.
            work.leave(reply);
            const sender = { owner: visitorOf(request), isKnown: false };
            const body = await bodies.read(request, reply, sender);
            work.beginVisit(request, reply);
            const answer = await row.run({
              body: body?.value,
              source,
              agent: request.headers['user-agent'] ?? '',
              token: cookie.read(request.raw),
              now: clock.now(),
              read: store.read,
              within: ({ accountId, userId, holding }, work) =>
                store.write((tx) =>
                  work(new AccountWrite(tx, accountId, clock.now(), holding, { userId, keyId: 0, source })),
                ),
            });
            // Given up meanwhile: it has had its answer.
            if (reply.sent) return reply;
            const { session } = answer;
            if (session === 'forgotten') reply.header('set-cookie', cookie.cleared());
            else if (session !== undefined) reply.header('set-cookie', cookie.set(session.token, session.lifeMs));
            return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer.body));
          },
        });
      }
    },
    { prefix: '/console' },
  );
}
