import type { FastifyReply } from 'fastify';
import { Problem } from '../../problems.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { LockMode, Tx } from '../../store/store.ts';
import { etagOf, omitFields, requirePreconditions } from './etag.ts';
import { replayOrRun, runOnce } from './idempotency.ts';
import { createAccountView, type RequestContext } from './request-context.ts';
import { sendWriteResult } from './respond.ts';
import type { Route } from './route.ts';

/** Runs a write in one transaction, and responds after the commit. */
export async function executeWrite(
  context: RequestContext,
  route: Extract<Route, { mode: 'write' }>,
): Promise<FastifyReply> {
  const { request, compiledRoute, deps, caller, input, preconditions, idempotentCall } = context;
  const view = createAccountView(caller, deps);
  const routeResult = await replayOrRun(idempotentCall, deps.inProgressCalls, view, async () => {
    const preparation = await route.prepare?.(caller, input, view, request.ip);
    return writeAsCaller(context, route.lockMode, (write, tx) => {
      const runRoute = async () => {
        if (preconditions !== undefined && compiledRoute.representationRoute !== undefined) {
          const { body } = await compiledRoute.representationRoute.run(write, caller, input);
          requirePreconditions(preconditions, etagOf(JSON.stringify(body)));
        }
        return route.run(write, caller, input, preparation);
      };
      if (idempotentCall === undefined) return runRoute();
      const toStorableBody = (body: unknown) => omitFields(compiledRoute.shownOnceFieldNames, body);
      return runOnce(tx, write, idempotentCall, route.status, runRoute, toStorableBody);
    });
  });
  return sendWriteResult(context, routeResult);
}

/**
 * Runs work in a transaction of the caller's account. The transaction is rolled back if the caller is no longer
 * authorized.
 */
export async function writeAsCaller<T>(
  { request, deps, caller }: RequestContext,
  lockMode: LockMode,
  work: (write: AccountWrite, tx: Tx) => Promise<T>,
): Promise<T> {
  const { store, clock, group } = deps;
  const { accountId, userId } = caller;
  const mayEnqueue = !(await deps.isOverPendingQuota(accountId));
  return store.write(
    async (tx) => {
      const write = new AccountWrite(tx, accountId, clock.now(), lockMode, { ...caller, source: request.ip });
      write.mayEnqueue = mayEnqueue;
      // These queries are pipelined: the authorization is sent first, and the first query of the work follows without
      // waiting for its result.
      const [authorization, workResult] = await Promise.allSettled([group.reauthorize(tx, caller), work(write, tx)]);
      if (authorization.status === 'rejected') throw authorization.reason;
      if (!authorization.value) throw new Problem(group.unauthenticatedProblemCode);
      if (workResult.status === 'rejected') throw workResult.reason;
      return workResult.value;
    },
    { accountId, userId, lockMode },
  );
}
