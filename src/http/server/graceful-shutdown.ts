import { Server } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../clock.ts';
import { nextIteration } from '../routes/page-slices.ts';

/** How long a stop goes on to accept, milliseconds: whoever was there before it has come in long before. */
const ACCEPTS_MS = 1_000;

/** A turn of the event loop in which nothing else was done, so that nobody can have come since it looked. */
const EMPTY_TURN_MS = 1;

/** How long a stop waits for the requests in flight. */
const STOP_REQUESTS_MS = 6_000;

/**
 * Leaves nobody unanswered: takes those who wait to be accepted, then no new connection, answers every request that still
 * comes on an open one, which ends with the answer, then closes what is idle.
 *
 * @param drainMs how long idle connections may still carry a request after that
 */
export async function closeServer(app: FastifyInstance, beats: Clock, drainMs: number): Promise<void> {
  const { server } = app;
  await untilAllAccepted(server, beats);
  // Node's http close would cut idle connections at once, together with a request that is just arriving on one.
  Server.prototype.close.call(server);
  await new Promise<void>((resolve) => beats.after(drainMs, resolve));
  const giveUp = beats.after(STOP_REQUESTS_MS, () => server.closeAllConnections());
  await app.close();
  giveUp();
}

/**
 * Resolves when the kernel holds no connection that it has taken for this server: it would reset them as the server stops
 * to listen, with the requests that they carry. Only one is accepted in each turn.
 */
async function untilAllAccepted(server: Server, beats: Clock): Promise<void> {
  let accepted = false;
  const onAccepted = () => {
    accepted = true;
  };
  server.on('connection', onAccepted);
  // The turn that is under way may have looked long ago.
  await nextIteration();
  const giveUpAt = beats.monotonic() + ACCEPTS_MS;
  for (let isEmpty = false; !isEmpty && beats.monotonic() < giveUpAt; ) {
    accepted = false;
    const begun = beats.monotonic();
    await nextIteration();
    isEmpty = !accepted && beats.monotonic() < begun + EMPTY_TURN_MS;
  }
  server.off('connection', onAccepted);
}
