import { setTimeout as wait } from 'node:timers/promises';

/** Between two looks: what takes longer is looked at less often, since each look is work for what is waited for, too. */
const SHORTEST_MS = 5;
const LONGEST_MS = 40;

/**
 * Asks again and again until the answer is as wanted; fails with the last answer after `withinMs`. For what comes
 * about by itself, soon.
 */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  wanted: (answer: T) => boolean,
  withinMs = 5_000,
): Promise<T> {
  const giveUpAt = performance.now() + withinMs;
  for (let pauseMs = SHORTEST_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_MS)) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    if (performance.now() > giveUpAt) throw new Error(`not within ${withinMs} ms; at last: ${JSON.stringify(answer)}`);
    await wait(pauseMs);
  }
}
