/** Sources of time and randomness, which tests replace. */
export type RuntimePorts = {
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
export const systemPorts: RuntimePorts = {
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
