/** Maximum length of a line in octets, without the line break (RFC 5545, 3.1). */
const MAX_LINE_BYTES = 75;

/** Maximum number of UTF-8 bytes of one UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

/** Matches everything that a parser may take for a line break. A value must not contain it. */
const LINE_BREAKS = /\r\n|[\n\r\u0085\u2028\u2029]/g;

/** Matches control characters except tab. A value must not contain them (RFC 5545, 3.1). */
const CONTROL_CHARACTERS = /[^\P{Cc}\t]/gu;

/** Escapes a text as a TEXT value, so that the text can end neither the value nor its line. */
export function escapeText(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\\;,]/g, '\\$&')
    .replace(LINE_BREAKS, '\\n')
    .replace(CONTROL_CHARACTERS, '');
}

/** Removes line breaks and control characters from a text, for a value type without escaping, such as a URI. */
export function stripControlCharacters(text: string): string {
  return text.toWellFormed().replace(LINE_BREAKS, '').replace(CONTROL_CHARACTERS, '');
}

/** Adds the line break to a line, and folds the line if it is too long. Folds never split a character. */
export function foldLine(line: string): string {
  if (line.length * MAX_BYTES_PER_UNIT <= MAX_LINE_BYTES) return `${line}\r\n`;
  const byteCount = Buffer.byteLength(line);
  if (byteCount <= MAX_LINE_BYTES) return `${line}\r\n`;
  return byteCount === line.length ? foldAsciiLine(line) : foldUnicodeLine(line);
}

function foldAsciiLine(line: string): string {
  let foldedText = `${line.slice(0, MAX_LINE_BYTES)}\r\n`;
  // Each continuation line begins with a space.
  for (let startIndex = MAX_LINE_BYTES; startIndex < line.length; startIndex += MAX_LINE_BYTES - 1) {
    foldedText += ` ${line.slice(startIndex, startIndex + MAX_LINE_BYTES - 1)}\r\n`;
  }
  return foldedText;
}

function foldUnicodeLine(line: string): string {
  let foldedText = '';
  let lineBytes = 0;
  for (const character of line) {
    const characterBytes = utf8Length(character.codePointAt(0) ?? 0);
    if (lineBytes + characterBytes > MAX_LINE_BYTES) {
      foldedText += '\r\n ';
      lineBytes = 1;
    }
    foldedText += character;
    lineBytes += characterBytes;
  }
  return `${foldedText}\r\n`;
}

function utf8Length(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}
