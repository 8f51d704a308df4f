import { type AttackTarget, attacks } from './attacks.ts';
import { createCounters } from './sockets.ts';

/** The message with the attack that this process runs. */
export type AttackOrder = Omit<AttackTarget, 'counters'> & { readonly attack: string };

/**
 * Runs an attack in its own process, so that it takes no time from the measurement. Sends its counters, and
 * exits.
 */
if (import.meta.main) {
  process.once('message', async ({ attack, ...orders }: AttackOrder) => {
    const found = attacks.find(({ name }) => name === attack);
    if (found === undefined) throw new Error(`there is no attack ${attack}`);
    const counters = createCounters();
    await found.run({ ...orders, counters });
    process.send?.(counters, () => process.exit(0));
  });
}
