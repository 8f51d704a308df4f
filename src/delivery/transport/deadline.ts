import type { Clock } from '../../clock.ts';

/**
 * Calls `expire` once after `waitMs`, but not before the event loop has polled its sockets once more. A timer that
 * fires late (the process was paused, or its event loop blocked) runs before the event loop reads the data that has
 * arrived in the meantime: without the poll, a response in the socket's buffer would lose against its own deadline.
 * Returns a function that cancels the deadline.
 */
export function startDeadline(clock: Clock, waitMs: number, expire: () => void): () => void {
  let isCancelled = false;
  const cancelTimer = clock.after(waitMs, () => {
    const expireUnlessCancelled = () => {
      if (!isCancelled) expire();
    };
    // Two immediates: if the first one is set during the poll phase, it runs without another poll in between.
    setImmediate(() => setImmediate(expireUnlessCancelled));
  });
  return () => {
    isCancelled = true;
    cancelTimer();
  };
}
