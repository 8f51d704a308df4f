import { setTimeout as wait } from 'node:timers/promises';
import { inspect } from 'node:util';

/** First and longest delay between two polls. The delay grows, because each poll slows down the service under test. */
const MIN_DELAY_MS = 5;
const MAX_DELAY_MS = 40;

/** Polls `read` until `isWanted` accepts its value. After `withinMs`, throws an error with the last value. */
export function eventually<T>(
  read: () => Promise<T> | T,
  isWanted: (value: T) => boolean,
  withinMs = 5_000,
): Promise<T> {
  return poll(read, isWanted, withinMs, MAX_DELAY_MS);
}

/** Like `eventually`, but runs a step before each poll, such as advancing a clock, and keeps the delay short. */
export function eventuallyAfterSteps<T>(
  step: () => Promise<unknown>,
  read: () => Promise<T> | T,
  isWanted: (value: T) => boolean,
  withinMs = 5_000,
): Promise<T> {
  return poll(() => step().then(read), isWanted, withinMs, MIN_DELAY_MS);
}

async function poll<T>(
  read: () => Promise<T> | T,
  isWanted: (value: T) => boolean,
  withinMs: number,
  maxDelayMs: number,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (let pauseMs = MIN_DELAY_MS; ; pauseMs = Math.min(2 * pauseMs, maxDelayMs)) {
    const value = await read();
    if (isWanted(value)) return value;
    if (performance.now() > deadline)
      throw new Error(`not within ${withinMs} ms; at last: ${inspect(value, { depth: 6 })}`);
    await wait(pauseMs);
  }
}
