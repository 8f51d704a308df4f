/** Maximum length of a line in octets, without the line break (RFC 5545, 3.1). */
const MAX_LINE_BYTES = 75;

/** Everything that a parser may take for a line break; it must not occur in a value. */
const LINE_ENDS = /\r\n|[\n\r\u0085\u2028\u2029]/g;

/** Control characters except tab; a value must not contain them (RFC 5545, 3.1). */
const CONTROLS = /[^\P{Cc}\t]/gu;

/** Escapes a text as a TEXT value, so that it can end neither its value nor its line. */
export function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\\;,]/g, '\\$&')
    .replace(LINE_ENDS, '\\n')
    .replace(CONTROLS, '');
}

/** Cleans a text for a value type without escaping, such as a URI. */
export function plain(text: string): string {
  return text.toWellFormed().replace(LINE_ENDS, '').replace(CONTROLS, '');
}

/** A line with its line break, folded if it is too long. Folds never split a character. */
export function folded(line: string): string {
  if (line.length <= MAX_LINE_BYTES && Buffer.byteLength(line) <= MAX_LINE_BYTES) return `${line}\r\n`;
  const parts: string[] = [];
  let part = '';
  let octets = 0;
  for (const character of line) {
    const length = Buffer.byteLength(character);
    if (octets + length > MAX_LINE_BYTES) {
      parts.push(part);
      part = ' ';
      octets = 1;
    }
    part += character;
    octets += length;
  }
  return `${[...parts, part].join('\r\n')}\r\n`;
}
