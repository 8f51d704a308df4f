import type { FastifyReply } from 'fastify';
import type { Caller } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { LockMode, Tx } from '../../store/store.ts';
import { replayOrRun, runOnce } from './idempotency.ts';
import { serializePage } from './list-response.ts';
import type { MountDeps, RequestContext } from './request-context.ts';
import { etagOf, omitFields, requirePreconditions, sendListPage, sendRecord, sendWriteResult } from './respond.ts';
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
async function writeAsCaller<T>(
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

/** Runs a write in several transactions, and responds after the last commit. The last one stores the response. */
export async function executeSteps(
  context: RequestContext,
  route: Extract<Route, { mode: 'steps' }>,
): Promise<FastifyReply> {
  const { reply, deps, caller, input, idempotentCall } = context;
  const view = createAccountView(caller, deps);
  const runStep = <T>(work: (write: AccountWrite, tx: Tx) => Promise<T>) => writeAsCaller(context, 'exclusive', work);
  // The steps take long, so they hold no slot that other requests wait for.
  deps.requestSlots.releaseSlot(reply);
  const routeResult = await replayOrRun(idempotentCall, deps.inProgressCalls, view, async () => {
    const stepsResult = await route.run({ view, write: runStep }, caller, input);
    if (idempotentCall === undefined) return stepsResult;
    return runStep((write, tx) =>
      runOnce(
        tx,
        write,
        idempotentCall,
        route.status,
        async () => stepsResult,
        (body) => body,
      ),
    );
  });
  return sendWriteResult(context, routeResult);
}

/** Runs a read, and responds with the record or with a page of the list. */
export async function executeRead(
  context: RequestContext,
  route: Extract<Route, { mode: 'read' }>,
): Promise<FastifyReply> {
  const { request, reply, deps, caller, input, responseCapacity } = context;
  const runRoute = () => {
    // Check the capacity again: the caller may have received other responses while this read waited.
    responseCapacity.requireCapacity();
    return route.run(createAccountView(caller, deps), caller, input);
  };
  const { body, pendingPage } = await (route.bypassesReadLimit === true
    ? runRoute()
    : deps.store.readWithLimit(runRoute));
  if (pendingPage !== undefined) {
    const serializedPage = await serializePage(pendingPage, {
      accountId: caller.accountId,
      largePageSemaphore: deps.largePageSemaphore,
      isRequestOver: () => reply.sent || reply.raw.destroyed,
      responseCapacity,
    });
    return sendListPage(context, serializedPage);
  }
  sendRecord(context, body);
  const isRecordSent = reply.statusCode === 200 || reply.statusCode === 304;
  if (route.supportsPreconditions && request.method === 'GET' && isRecordSent)
    deps.group.onRecordFetched?.(caller, route.path, input.ids);
  return reply;
}

/** Returns a view of the account of a caller, outside of a transaction. */
export function createAccountView({ accountId }: Caller, { store, clock }: MountDeps): AccountView {
  return new AccountView(store.read, accountId, clock.now());
}
