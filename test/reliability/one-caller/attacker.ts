import { type Attacking, attacks } from './attacks.ts';
import { nothingSeen } from './sockets.ts';

/** The attack that this process is to run. */
export type Orders = Omit<Attacking, 'seen'> & { readonly attack: string };

/** An attack in a process of its own, so that attacking takes no time from measuring. Sends what it has seen, and exits. */
if (import.meta.main) {
  process.once('message', async ({ attack, ...orders }: Orders) => {
    const found = attacks.find(({ name }) => name === attack);
    if (found === undefined) throw new Error(`there is no attack ${attack}`);
    const seen = nothingSeen();
    await found.run({ ...orders, seen });
    process.send?.(seen, () => process.exit(0));
  });
}
