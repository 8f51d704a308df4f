/** Entropy of a suggested path: 144 bits, as in an API key. */
const SECRET_BYTES = 18;

/** An unguessable path for a target URL. */
export function secretPath(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  return `/carillon/${btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')}`;
}
