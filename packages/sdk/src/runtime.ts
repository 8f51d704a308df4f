/** Sources of time and randomness, which tests replace. */
export type RuntimeDeps = {
  /** Returns milliseconds since an arbitrary point in time. */
  now(): number;
  /** Resolves after `waitMs`, or when the signal is aborted. Never rejects. */
  pause(waitMs: number, signal: AbortSignal | undefined): Promise<void>;
  /** Returns a random number from 0 to 1. */
  randomFraction(): number;
  /** Returns a unique idempotency key. */
  createIdempotencyKey(): string;
};

/** Time and randomness of the platform: browsers, Node, Deno or Bun. */
export const systemDeps: RuntimeDeps = {
  now: () => performance.now(),
  pause,
  randomFraction: Math.random,
  // `crypto.randomUUID` is not available on pages that are served over http.
  createIdempotencyKey: () =>
    Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(''),
};

function pause(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, waitMs);
    signal?.addEventListener('abort', finish);
    if (signal?.aborted) finish();
  });
}

/** Maximum delay of a timer. A longer delay would fire immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls a function after `waitMs`. The returned function cancels it. The timer does not keep the process alive. */
export function callAfter(waitMs: number, callback: () => void): () => void {
  const timer: unknown = setTimeout(callback, Math.min(waitMs, MAX_TIMER_MS));
  // In Node and Bun a timer is an object with `unref`; elsewhere it is a number.
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function') {
    timer.unref();
  }
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>);
}

/**
 * Resolves with the result of the promise, or with undefined after `timeoutMs`. In the latter case the work behind the
 * promise continues, and its errors are ignored.
 */
export async function withTimeout<T>(timeoutMs: number, promise: Promise<T>): Promise<T | undefined> {
  let cancelTimer = () => {};
  const timeoutPromise = new Promise<undefined>((resolve) => {
    cancelTimer = callAfter(timeoutMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([promise, timeoutPromise]);
  } finally {
    cancelTimer();
  }
}
