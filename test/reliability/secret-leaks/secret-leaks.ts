import type { ReliabilityTest, Run, RunResult } from '../reliability-test.ts';
import { waitForAll } from '../shards.ts';
import { runScenario } from './scenario.ts';

/** R15: secrets are stored only where they are needed again. */
export const canary: ReliabilityTest = {
  id: 'R15',
  name: 'canary',
  title: 'every kind of secret is used and then searched for in everything that was written',
  promise: 'no key, token or password anywhere; no complete target URL in a log',
  unit: 'run on every database',
  smoke: 1,
  full: 1,
  execute,
};

async function execute({ stores, context, log }: Run): Promise<RunResult> {
  const broken: string[] = [];
  let [secrets, places, bytes] = [0, 0, 0];
  const walks = stores.map(async (store, index) => {
    // Commands that do not depend on the database run only with the first one.
    const fixture = await runScenario(store, context, index === 0);
    const all = fixture.places();
    secrets += fixture.secrets.length;
    places += all.length;
    bytes += all.reduce((sum, place) => sum + place.bytes.length, 0);
    for (const place of all) log(`${store.name}: ${place.name}, ${place.bytes.length} octets`);
    broken.push(...scan(fixture.secrets, all).map((line) => `${store.name}: ${line}`));
  });
  await waitForAll(walks);
  return { counts: { secrets, 'places searched': places, octets: bytes }, broken };
}

/** Something that was printed or written, with its name. */
export type Place = { readonly name: string; readonly bytes: Buffer };

/** A secret, with the places that may contain it. */
export type Secret = { readonly what: string; readonly text: string; readonly allowedIn: readonly string[] };

/** A leak of a long secret: 20 consecutive characters of it. */
const MIN_LENGTH_FOR_PARTS = 40;
const PART_LENGTH = 20;

/** Forms in which a secret may appear: as it is, in part, or encoded. */
function formsOf(text: string): string[] {
  const hex = Buffer.from(text).toString('hex');
  const parts = text.length < MIN_LENGTH_FOR_PARTS ? [] : [text.slice(0, PART_LENGTH), text.slice(-PART_LENGTH)];
  const written = [encodeURIComponent(text), JSON.stringify(text).slice(1, -1), hex, hex.toUpperCase()];
  return [...new Set([text, ...parts, ...written, ...inBase64(text, 'base64'), ...inBase64(text, 'base64url')])];
}

/**
 * Base64 encodes three bytes as four characters, so the result depends on the offset of the secret: one form
 * for each offset, without the characters shared with neighboring bytes.
 */
function inBase64(text: string, encoding: 'base64' | 'base64url'): string[] {
  return [0, 1, 2].map((before) => {
    const whole = Buffer.from(' '.repeat(before) + text);
    const written = whole.subarray(0, whole.length - (whole.length % 3)).toString(encoding);
    return before === 0 ? written : written.slice(4);
  });
}

/** Reports every secret found in a place that must not contain it, and every one not found in a place that must. */
export function scan(canaries: readonly Secret[], places: readonly Place[]): string[] {
  const broken: string[] = [];
  for (const { what, text, allowedIn } of canaries) {
    const found = new Set(
      places.filter(({ bytes }) => formsOf(text).some((form) => bytes.includes(form))).map(({ name }) => name),
    );
    for (const name of found) if (!allowedIn.includes(name)) broken.push(`${what} is in ${name}`);
    for (const name of allowedIn) {
      const isThere = places.some((place) => place.name === name);
      if (isThere && !found.has(name))
        broken.push(`${what} is not found in ${name}, which must contain it: the scan is blind`);
    }
  }
  return broken;
}
