/** What time and chance are to the SDK, which stands alone: everything that a call waits by, or makes up. */
export type Ports = {
  /** Milliseconds from any beginning. */
  now(): number;
  /** Over after so long, or as soon as the signal is aborted; never rejects. */
  pause(waitMs: number, signal: AbortSignal | undefined): Promise<void>;
  /** From 0 to 1. */
  fraction(): number;
  /** One that nobody has used before. */
  word(): string;
};

/** Those of the machine, by what browsers, Node, Deno and Bun have in common. */
export const systemPorts: Ports = {
  now: () => performance.now(),
  pause,
  fraction: Math.random,
  // `crypto.randomUUID` is missing on pages that came over http.
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
