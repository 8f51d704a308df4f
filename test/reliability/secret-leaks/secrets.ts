/** Everything that was printed or written in one place, such as the log, with the name of the place. */
export type SearchedPlace = { readonly name: string; readonly bytes: Buffer };

/** A secret, with the places that may contain it. */
export type Secret = { readonly what: string; readonly text: string; readonly allowedIn: readonly string[] };

/** Minimum length of a secret of which a part already counts as a leak. */
const MIN_LENGTH_FOR_PARTS = 40;
/** Number of consecutive characters of a long secret that count as a leak. */
const PART_LENGTH = 20;

/** Returns the forms in which a secret may appear: as it is, in part, or encoded. */
function secretForms(text: string): string[] {
  const hex = Buffer.from(text).toString('hex');
  const parts = text.length < MIN_LENGTH_FOR_PARTS ? [] : [text.slice(0, PART_LENGTH), text.slice(-PART_LENGTH)];
  const written = [encodeURIComponent(text), JSON.stringify(text).slice(1, -1), hex, hex.toUpperCase()];
  return [...new Set([text, ...parts, ...written, ...base64Forms(text, 'base64'), ...base64Forms(text, 'base64url')])];
}

/**
 * Returns the base64 forms of a secret. Base64 encodes three bytes as four characters, so there is one form for
 * each offset of the secret, without the characters that are shared with neighboring bytes.
 */
function base64Forms(text: string, encoding: 'base64' | 'base64url'): string[] {
  return [0, 1, 2].map((before) => {
    const whole = Buffer.from(' '.repeat(before) + text);
    const written = whole.subarray(0, whole.length - (whole.length % 3)).toString(encoding);
    return before === 0 ? written : written.slice(4);
  });
}

/**
 * Reports every secret that is found in a place that must not contain it, and every secret that is missing in a
 * place that must contain it.
 */
export function findLeaks(secrets: readonly Secret[], places: readonly SearchedPlace[]): string[] {
  const broken: string[] = [];
  for (const { what, text, allowedIn } of secrets) {
    const found = new Set(
      places.filter(({ bytes }) => secretForms(text).some((form) => bytes.includes(form))).map(({ name }) => name),
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
