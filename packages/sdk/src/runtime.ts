/** Time and randomness of the SDK. */
export type Ports = {
  /** Milliseconds since an arbitrary time. */
  now(): number;
  /** Resolves after `waitMs`, or when the signal is aborted; never rejects. */
  pause(waitMs: number, signal: AbortSignal | undefined): Promise<void>;
  /** A random number from 0 to 1. */
  fraction(): number;
  /** A unique idempotency key. */
  word(): string;
};

/** Implementation for browsers, Node, Deno and Bun. */
export const systemPorts: Ports = {
  now: () => performance.now(),
  pause,
  fraction: Math.random,
  // `crypto.randomUUID` is not available on http pages.
  word: () =>
    Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(''),
};

function pause(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, waitMs);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
}
