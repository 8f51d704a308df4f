import { setTimeout as wait } from 'node:timers/promises';
import { inspect } from 'node:util';

/** Between two looks: what takes longer is looked at less often, since each look is work for what is waited for, too. */
const MIN_DELAY_MS = 5;
const MAX_DELAY_MS = 40;

/**
 * Asks again and again until the answer is as wanted; fails with the last answer after `withinMs`. For what comes
 * about by itself, soon.
 */
export function eventually<T>(ask: () => Promise<T> | T, wanted: (answer: T) => boolean, withinMs = 5_000): Promise<T> {
  return looking(ask, wanted, withinMs, MAX_DELAY_MS);
}

/** The same for what comes about by steps, such as of a clock: one before each look, the next one soon. */
export function stepByStep<T>(
  step: () => Promise<unknown>,
  ask: () => Promise<T> | T,
  wanted: (answer: T) => boolean,
  withinMs = 5_000,
): Promise<T> {
  return looking(() => step().then(ask), wanted, withinMs, MIN_DELAY_MS);
}

async function looking<T>(
  ask: () => Promise<T> | T,
  wanted: (answer: T) => boolean,
  withinMs: number,
  longestMs: number,
): Promise<T> {
  const giveUpAt = performance.now() + withinMs;
  for (let pauseMs = MIN_DELAY_MS; ; pauseMs = Math.min(2 * pauseMs, longestMs)) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    if (performance.now() > giveUpAt)
      throw new Error(`not within ${withinMs} ms; at last: ${inspect(answer, { depth: 6 })}`);
    await wait(pauseMs);
  }
}
