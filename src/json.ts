const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** More values than any honest body has; the 2.7 million that 8 MB can hold take 0.3 s and 250 MB. */
const MAX_VALUES = 20_000;

const [QUOTE, BACKSLASH, COMMA, OPEN_ARRAY, OPEN_OBJECT] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/**
 * Parses JSON in UTF-8, in time that grows with its length alone, however deep it is nested. `__proto__` as a key is
 * refused, since no honest client writes it, and so are more than 20,000 values.
 *
 * @throws SyntaxError or TypeError
 */
export function parseJson(bytes: Uint8Array): unknown {
  if (hasTooManyValues(bytes)) throw new SyntaxError('The JSON has too many values.');
  const value: unknown = JSON.parse(decoder.decode(bytes));
  const pending = isContainer(value) ? [value] : [];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) addInner(next, pending);
  return value;
}

/** Counts before anything is parsed: commas and opening brackets outside of strings each precede a value. */
function hasTooManyValues(bytes: Uint8Array): boolean {
  let count = 0;
  let isString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) isString = !isString;
    else if (isString) {
      if (byte === BACKSLASH) at += 1;
    } else if (byte === COMMA || byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      count += 1;
      if (count > MAX_VALUES) return true;
    }
  }
  return false;
}

function addInner(container: Container, pending: Container[]): void {
  if (Array.isArray(container)) {
    for (const value of container) if (isContainer(value)) pending.push(value);
    return;
  }
  if (Object.hasOwn(container, '__proto__')) throw new SyntaxError('The JSON has a key __proto__.');
  // Parsed objects inherit nothing that is enumerable.
  for (const key in container) {
    const value = container[key];
    if (isContainer(value)) pending.push(value);
  }
}

type Container = unknown[] | Record<string, unknown>;

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;
