import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import { waitForAll } from '../shards.ts';
import { findLeaks } from './fixture.ts';
import { runScenario } from './scenario.ts';

/** Reliability test R15: secrets are stored only where they are needed again. */
export const secretLeaks: ReliabilityTest = {
  id: 'R15',
  name: 'canary',
  title: 'every kind of secret is used, and then searched for in everything that the service has written',
  promise:
    'no key, token or password is found; signing secrets are only in databases, backups and exports; no log has a complete target URL',
  unit: 'run on each database',
  quick: 1,
  full: 1,
  execute,
};

async function execute({ stores, context, log }: RunParameters): Promise<RunResult> {
  const broken: string[] = [];
  let [secrets, places, bytes] = [0, 0, 0];
  const scenarios = stores.map(async (store, index) => {
    // Commands that do not depend on the database run only with the first database.
    const fixture = await runScenario(store, context, index === 0);
    const all = fixture.searchedPlaces();
    secrets += fixture.secrets.length;
    places += all.length;
    bytes += all.reduce((sum, place) => sum + place.bytes.length, 0);
    for (const place of all) log(`${store.name}: ${place.name}, ${place.bytes.length} octets`);
    broken.push(...findLeaks(fixture.secrets, all).map((line) => `${store.name}: ${line}`));
  });
  await waitForAll(scenarios);
  return { counts: { secrets, 'places searched': places, octets: bytes }, broken };
}
