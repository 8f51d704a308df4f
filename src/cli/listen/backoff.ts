import type { Clock } from '../../clock.ts';

const INITIAL_WAIT_MS = 250;
const MAX_WAIT_MS = 30_000;

/** Exponential backoff; `reset` after a success. */
export class Waits {
  #nextMs = INITIAL_WAIT_MS;

  next(): number {
    const waitMs = this.#nextMs;
    this.#nextMs = Math.min(2 * waitMs, MAX_WAIT_MS);
    return waitMs;
  }

  reset(): void {
    this.#nextMs = INITIAL_WAIT_MS;
  }
}

/** Waits; rejects with the signal's reason as soon as it is aborted. */
export async function pause(clock: Clock, waitMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = () => resolve();
  const cancel = clock.after(waitMs, wake);
  signal.addEventListener('abort', wake);
  await promise;
  signal.removeEventListener('abort', wake);
  cancel();
  signal.throwIfAborted();
}
