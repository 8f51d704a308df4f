/** Where something was written: the bytes of it, and what it is called. */
export type Place = { readonly name: string; readonly bytes: Buffer };

/** A secret, by what it is, and the places that are meant to hold it. */
export type Canary = { readonly what: string; readonly text: string; readonly standsIn: readonly string[] };

/** The ways in which a secret could stand somewhere: as it is, and as what handles text would write it. */
function formsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  return [
    ...new Set([text, encodeURIComponent(text), bytes.toString('base64').replace(/=+$/, ''), bytes.toString('hex')]),
  ];
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
