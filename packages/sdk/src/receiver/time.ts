/** The current time, in milliseconds since the epoch. */
export const now = (): number => Date.now();

/** The maximum delay of a timer; a longer one would fire immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls `run` after `waitMs` unless it is canceled. The timer does not keep the process alive. */
export function after(waitMs: number, run: () => void): () => void {
  const timer: unknown = setTimeout(run, Math.min(waitMs, MAX_TIMER_MS));
  // Node and Bun; elsewhere a timer is a number.
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function') {
    timer.unref();
  }
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
}

/** The result of `work`, or undefined after `timeoutMs`; the work then continues, and its errors are ignored. */
export async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T | undefined> {
  let cancel = () => {};
  const late = new Promise<undefined>((resolve) => {
    cancel = after(timeoutMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
  }
}
