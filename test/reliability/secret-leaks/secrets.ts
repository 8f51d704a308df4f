/** Where something was written: the bytes of it, and what it is called. */
export type Place = { readonly name: string; readonly bytes: Buffer };

/** A secret, by what it is, and the places that are meant to hold it. */
export type Canary = { readonly what: string; readonly text: string; readonly standsIn: readonly string[] };

/** Of a long one, a part gives as much away. */
const LONG = 40;
const PART = 20;

/** The ways in which a secret could stand somewhere: as it is, in part, and as what handles text would write it. */
function formsOf(text: string): string[] {
  const hex = Buffer.from(text).toString('hex');
  const parts = text.length < LONG ? [] : [text.slice(0, PART), text.slice(-PART)];
  const written = [encodeURIComponent(text), JSON.stringify(text).slice(1, -1), hex, hex.toUpperCase()];
  return [...new Set([text, ...parts, ...written, ...inBase64(text, 'base64'), ...inBase64(text, 'base64url')])];
}

/** Three bytes become four signs, so that it depends on what stands before how a text is written; edges are left out. */
function inBase64(text: string, encoding: 'base64' | 'base64url'): string[] {
  return [0, 1, 2].map((before) => {
    const whole = Buffer.from(' '.repeat(before) + text);
    const written = whole.subarray(0, whole.length - (whole.length % 3)).toString(encoding);
    return before === 0 ? written : written.slice(4);
  });
}

/** Every secret found where it is not meant to be, a line each; and those that are not found where they are. */
export function scan(canaries: readonly Canary[], places: readonly Place[]): string[] {
  const broken: string[] = [];
  for (const { what, text, standsIn } of canaries) {
    const found = new Set(
      places.filter(({ bytes }) => formsOf(text).some((form) => bytes.includes(form))).map(({ name }) => name),
    );
    for (const name of found) if (!standsIn.includes(name)) broken.push(`${what} stands in ${name}`);
    for (const name of standsIn) {
      const isThere = places.some((place) => place.name === name);
      if (isThere && !found.has(name))
        broken.push(`${what} is not found in ${name}, where it stands: the scan is blind`);
    }
  }
  return broken;
}
