/**
 * The characters that control a terminal or the text direction, as the content of a regular-expression character class:
 * C0, DEL, C1, line and paragraph separators, and bidirectional embeddings, overrides and isolates. The class works in
 * all regular-expression dialects of JSON Schema.
 */
export const CONTROL_CHARACTERS = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069';

/** A JSON Schema pattern for text without control characters. */
export const PLAIN_TEXT_PATTERN = `^[^${CONTROL_CHARACTERS}]*$`;

const CONTROL_CHARACTER_REGEXP = new RegExp(`[${CONTROL_CHARACTERS}]`, 'g');
const PLAIN_TEXT_REGEXP = new RegExp(PLAIN_TEXT_PATTERN);

/** Whether every database stores a text unchanged. Some reject or change NUL and lone surrogates (C4). */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Whether a text contains no control characters. */
export function isPlainText(text: string): boolean {
  return PLAIN_TEXT_REGEXP.test(text);
}

/**
 * Makes a text safe for one line of a terminal: line ends and tabs become spaces, other control characters
 * become �. Names, responses and error texts are untrusted and must not move the cursor or forge a line.
 */
export function toPrintable(text: string): string {
  if (isPlainText(text)) return text;
  return text
    .replace(/\s+/g, (whitespace) => (/[\r\n\t]/.test(whitespace) ? ' ' : whitespace))
    .replace(CONTROL_CHARACTER_REGEXP, '\u{fffd}');
}

/** Makes JSON safe for a terminal: the same value, with all control characters escaped. */
export function toPrintableJson(json: string): string {
  if (isPlainText(json)) return json;
  return json.replace(CONTROL_CHARACTER_REGEXP, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
