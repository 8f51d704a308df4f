import { setTimeout as wait } from 'node:timers/promises';

/**
 * Asks again and again until the answer is as wanted; fails with the last answer after `withinMs`. For what comes
 * about by itself, soon: no test waits longer than it must.
 */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  wanted: (answer: T) => boolean,
  withinMs = 5_000,
): Promise<T> {
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    if (performance.now() > giveUpAt) throw new Error(`not within ${withinMs} ms; at last: ${JSON.stringify(answer)}`);
    await wait(5);
  }
}
