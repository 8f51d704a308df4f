import type { FastifyReply } from 'fastify';
import type { AccountWrite } from '../../store/account-scope.ts';
import type { Tx } from '../../store/store.ts';
import { writeAsCaller } from './execute-write.ts';
import { replayOrRun, runOnce } from './idempotency.ts';
import { createAccountView, type RequestContext } from './request-context.ts';
import { sendWriteResult } from './respond.ts';
import type { Route } from './route.ts';

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
