import { toPrintable } from '../../control-characters.ts';

/** Number of consecutive letters of a header value that are recognized in a text, wherever they are in the value. */
const WINDOW_LENGTH = 6;
/** Minimum number of letters that are hidden. Fewer are too common to be a secret. */
const MIN_LENGTH = 4;

/**
 * Matches one ASCII letter or digit, or what is between them: other characters and escapes of such characters in JSON,
 * HTML and URLs, also escaped repeatedly. A value and its escaped forms therefore have the same letters.
 */
const LETTER_OR_GAP = /\\+(?:u[0-9a-f]{4}|x[0-9a-f]{2})?|%(?:25)*[0-9a-f]{2}|&(?:amp;)*#?\w{1,8};|[^a-z0-9]|(\w)/gi;

/** The letters of a text in lower case, and their indexes in the text. */
function findLetters(text: string): { readonly letters: string; readonly indexes: readonly number[] } {
  const found = [...text.matchAll(LETTER_OR_GAP)].filter(([, letter]) => letter !== undefined);
  return { letters: found.map(([letter]) => letter.toLowerCase()).join(''), indexes: found.map(({ index }) => index) };
}

/**
 * Replaces values of headers in a text by `…`, in every case and form: escaped, in part, cut off, or decoded from
 * `Basic`. The work grows with the length of the text and the values, not with their product.
 *
 * @param headers alternating names and values
 */
export function redactHeaderValues(text: string, headers: readonly string[]): string {
  const values = headers.filter((_, index) => index % 2 === 1);
  const secrets = values.flatMap((value) => [value, ...decodeCredentials(value)]);
  const parts = new Set(secrets.flatMap(partsOf));
  const { letters, indexes } = findLetters(text);
  const isHidden = new Uint8Array(text.length);
  for (let start = 0; start < letters.length; start += 1)
    for (let length = MIN_LENGTH; length <= WINDOW_LENGTH; length += 1)
      if (parts.has(letters.slice(start, start + length)))
        isHidden.fill(1, indexes[start], (indexes[start + length - 1] ?? 0) + 1);
  // A value without letters is found as it is.
  for (const secret of secrets.map(toPrintable).filter(({ length }) => length >= MIN_LENGTH))
    for (let start = text.indexOf(secret); start >= 0; start = text.indexOf(secret, start + secret.length))
      isHidden.fill(1, start, start + secret.length);
  return replaceHidden(text, isHidden);
}

/** Returns the parts of a secret to look for: all windows of its letters, and shorter words, which can stand alone. */
function partsOf(secret: string): string[] {
  const words = secret.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  // Text of the value that could be an escape is looked for both as an escape and as it is.
  const parts = [findLetters(secret).letters, words.join('')].flatMap(windowsOf);
  return [...parts, ...words.filter((word) => word.length < WINDOW_LENGTH)].filter((part) => part.length >= MIN_LENGTH);
}

function windowsOf(letters: string): string[] {
  const length = Math.min(WINDOW_LENGTH, letters.length);
  return Array.from({ length: letters.length - length + 1 }, (_, start) => letters.slice(start, start + length));
}

/** Returns the decoded credentials of `Basic`, and their password. */
function decodeCredentials(value: string): string[] {
  const [, credentials] = /^basic\s+(\S+)$/i.exec(value) ?? [];
  if (credentials === undefined) return [];
  const decoded = Buffer.from(credentials, 'base64').toString();
  return [decoded, decoded.slice(decoded.indexOf(':') + 1)];
}

function replaceHidden(text: string, isHidden: Uint8Array): string {
  let shown = '';
  let index = 0;
  while (index < text.length) {
    const end = isHidden.indexOf(isHidden[index] === 1 ? 0 : 1, index);
    const next = end === -1 ? text.length : end;
    shown += isHidden[index] === 1 ? '…' : text.slice(index, next);
    index = next;
  }
  return shown;
}
