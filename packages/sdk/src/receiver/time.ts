/** The moment, in milliseconds since the epoch. */
export const now = (): number => Date.now();

/** What a timer can wait for at most; one that is asked for more waits for nothing. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls `run` after so many milliseconds, unless it is cancelled. What waits keeps no process alive. */
export function after(waitMs: number, run: () => void): () => void {
  const timer: unknown = setTimeout(run, Math.min(waitMs, MAX_TIMER_MS));
  // Node and Bun; elsewhere a timer is a number.
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function') {
    timer.unref();
  }
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
}

/** What `work` comes to, or undefined if it takes longer; it then goes on by itself, and what it throws is nobody's. */
export async function within<T>(mostMs: number, work: Promise<T>): Promise<T | undefined> {
  let cancel = () => {};
  const late = new Promise<undefined>((resolve) => {
    cancel = after(mostMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
  }
}
