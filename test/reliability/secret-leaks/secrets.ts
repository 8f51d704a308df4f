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
