import type { Clock } from '../../clock.ts';

/**
 * Calls `expire` once when `waitMs` have passed, but not before the event loop has polled its sockets once more. A timer
 * that fires late (the process was paused, or its loop was blocked) runs before the data that has arrived meanwhile is
 * read: without the poll an answer in the socket's buffer would lose against its own deadline. The result cancels it.
 */
export function startDeadline(clock: Clock, waitMs: number, expire: () => void): () => void {
  let isCancelled = false;
  const cancelTimer = clock.after(waitMs, () => {
    const judge = () => {
      if (!isCancelled) expire();
    };
    // Two turns, since the first immediate runs without a poll in between where it was set in the middle of one.
    setImmediate(() => setImmediate(judge));
  });
  return () => {
    isCancelled = true;
    cancelTimer();
  };
}
