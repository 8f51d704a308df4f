import type { Figure, Proof, Run } from '../reliability-test.ts';
import { sideBySide } from '../shards.ts';
import { walk } from './scenario.ts';
import { scan } from './secrets.ts';

/** R15: secrets stand where they are needed again, and nowhere else. */
export const canary: Proof = {
  id: 'R15',
  name: 'canary',
  title: 'every kind of secret is used and then searched for in everything that was written',
  promise: 'no key, token or password anywhere; no whole target in a log',
  unit: 'run on every database',
  quick: 1,
  long: 1,
  prove,
};

async function prove({ stores, context, say }: Run): Promise<Figure> {
  const broken: string[] = [];
  let [secrets, places, bytes] = [0, 0, 0];
  const walks = stores.map(async (store, index) => {
    // What has nothing to do with a database is tried beside one of them.
    const house = await walk(store, context, index === 0);
    const all = house.places();
    secrets += house.canaries.length;
    places += all.length;
    bytes += all.reduce((sum, place) => sum + place.bytes.length, 0);
    for (const place of all) say(`${store.name}: ${place.name}, ${place.bytes.length} octets`);
    broken.push(...scan(house.canaries, all).map((line) => `${store.name}: ${line}`));
  });
  await sideBySide(walks);
  return { counts: { secrets, 'places looked through': places, octets: bytes }, broken };
}
