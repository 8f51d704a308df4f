import { type Attacking, attacks } from './attacks.ts';
import { nothingSeen } from './sockets.ts';

/** The attack that this process runs. */
export type Orders = Omit<Attacking, 'seen'> & { readonly attack: string };

/**
 * Runs an attack in its own process, so that it takes no time from the measurement. Sends its counters, and
 * exits.
 */
if (import.meta.main) {
  process.once('message', async ({ attack, ...orders }: Orders) => {
    const found = attacks.find(({ name }) => name === attack);
    if (found === undefined) throw new Error(`there is no attack ${attack}`);
    const seen = nothingSeen();
    await found.run({ ...orders, seen });
    process.send?.(seen, () => process.exit(0));
  });
}
