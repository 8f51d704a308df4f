/** Chance in a suggested path: as much as in a key. */
const SECRET_BYTES = 18;

/** A path that nobody guesses. */
export function secretPath(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return `/carillon/${btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')}`;
}
