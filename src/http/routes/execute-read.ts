import type { FastifyReply } from 'fastify';
import { serializePage } from './list-response.ts';
import { createAccountView, type RequestContext } from './request-context.ts';
import { sendListPage, sendRecord } from './respond.ts';
import type { Route } from './route.ts';

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
