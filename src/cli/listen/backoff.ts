import type { Clock } from '../../clock.ts';

const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 30_000;

/** Waits that grow from one to the next, until something went well. */
export class Waits {
  #nextMs = FIRST_WAIT_MS;

  next(): number {
    const waitMs = this.#nextMs;
    this.#nextMs = Math.min(2 * waitMs, MAX_WAIT_MS);
    return waitMs;
  }

  reset(): void {
    this.#nextMs = FIRST_WAIT_MS;
  }
}

/** Over after so long; rejects with the signal's reason as soon as that is aborted. */
export async function pause(clock: Clock, waitMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const over = () => resolve();
  const cancel = clock.after(waitMs, over);
  signal.addEventListener('abort', over);
  await promise;
  signal.removeEventListener('abort', over);
  cancel();
  signal.throwIfAborted();
}
