import { Server } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type Clock, sleep } from '../../clock.ts';
import { waitForNextIteration } from '../routes/pagination.ts';

/** Maximum time for accepting the connections that are queued in the kernel. */
const ACCEPT_TIMEOUT_MS = 1_000;

/** If an event-loop iteration is shorter than this and accepts no connection, the kernel's accept queue was empty. */
const MAX_IDLE_ITERATION_MS = 1;

/** How long a shutdown waits for requests in flight before it closes their connections. */
const REQUEST_DRAIN_TIMEOUT_MS = 6_000;

/**
 * Shuts the server down without dropping a request: accepts the connections that are queued in the kernel, stops
 * listening, answers the requests that still arrive on open connections (each response closes its connection), then
 * closes idle connections. `Dispatcher.stop` waits for the attempts (webhooks) in flight.
 *
 * @param realClock never replaced by a test's fake clock
 * @param drainMs how long idle connections may still send a request after the server stopped listening
 */
export async function closeServer(app: FastifyInstance, realClock: Clock, drainMs: number): Promise<void> {
  const { server } = app;
  await waitUntilAllAccepted(server, realClock);
  // `http.Server.close` would close idle connections immediately, even one over which a request is just arriving.
  Server.prototype.close.call(server);
  await sleep(realClock, drainMs);
  const cancelDrainTimeout = realClock.after(REQUEST_DRAIN_TIMEOUT_MS, () => server.closeAllConnections());
  await app.close();
  cancelDrainTimeout();
}

/**
 * Resolves when the kernel's accept queue is empty: connections left in it would be reset, with their requests,
 * when the server stops listening. Node accepts one connection per event-loop iteration.
 */
async function waitUntilAllAccepted(server: Server, realClock: Clock): Promise<void> {
  let hasAccepted = false;
  const onConnectionAccepted = () => {
    hasAccepted = true;
  };
  server.on('connection', onConnectionAccepted);
  // Begin with a new iteration: the current one may have polled for connections long ago.
  await waitForNextIteration();
  const acceptDeadline = realClock.monotonic() + ACCEPT_TIMEOUT_MS;
  for (let isQueueEmpty = false; !isQueueEmpty && realClock.monotonic() < acceptDeadline; ) {
    hasAccepted = false;
    const iterationStartedAt = realClock.monotonic();
    await waitForNextIteration();
    isQueueEmpty = !hasAccepted && realClock.monotonic() < iterationStartedAt + MAX_IDLE_ITERATION_MS;
  }
  server.off('connection', onConnectionAccepted);
}
