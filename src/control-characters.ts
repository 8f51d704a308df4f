/**
 * Characters that steer a terminal or turn the direction of reading: C0, DEL, C1, line and paragraph separators, and the
 * embeddings, overrides and isolates of bidirectional text. Written as ranges that every dialect of JSON Schema reads.
 */
export const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069';

/** A text without any of them, as a pattern for JSON Schema. */
export const PLAIN_PATTERN = `^[^${CONTROLS}]*$`;

const CONTROL = new RegExp(`[${CONTROLS}]`, 'g');
const PLAIN = new RegExp(PLAIN_PATTERN);

/** Whether every database keeps a text as it is: NUL and lone surrogates are refused or changed by some (C4). */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

/** Whether a text has no control characters. */
export function isPlain(text: string): boolean {
  return PLAIN.test(text);
}

/**
 * A text as it may stand in one line on a terminal: line ends and tabs become spaces, other control characters become �.
 * Names, answers and error texts are written by strangers, who must not be able to move the cursor or forge a line.
 */
export function printable(text: string): string {
  if (isPlain(text)) return text;
  return text.replace(/\s+/g, (blank) => (/[\r\n\t]/.test(blank) ? ' ' : blank)).replace(CONTROL, '\u{fffd}');
}

/** JSON that may stand on a terminal: the same value, with the control characters that JSON leaves alone escaped. */
export function printableJson(json: string): string {
  if (isPlain(json)) return json;
  return json.replace(CONTROL, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
