/** The most octets of a line, its end not counted (RFC 5545, 3.1). */
const MAX_LINE_BYTES = 75;

/** Whatever somebody might take for the end of a line, which must never stand in a value. */
const LINE_ENDS = /\r\n|[\n\r\u0085\u2028\u2029]/g;

/** Control characters, which no value may hold (RFC 5545, 3.1); a tab may. */
const CONTROLS = /[^\P{Cc}\t]/gu;

/** A text as a value: it can neither end its line nor its value. */
export function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\\;,]/g, '\\$&')
    .replace(LINE_ENDS, '\\n')
    .replace(CONTROLS, '');
}

/** A text as a line may hold it where there is no escaping: in an address. */
export function plain(text: string): string {
  return text.toWellFormed().replace(LINE_ENDS, '').replace(CONTROLS, '');
}

/** One line with its end, folded where it is too long: never within a character, so that no reader sees half of one. */
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
