const signs = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** East Asian wide and full-width signs, and emoji, take two columns of a terminal. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2fb}\u{20000}-\u{3fffd}]|.+\ufe0f)/u;

const NONE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** How many columns a printable text takes. */
export function columnsOf(text: string): number {
  // Most names are plain, and there may be thousands.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return [...signs.segment(text)].reduce((columns, { segment }) => columns + columnsOfSign(segment), 0);
}

function columnsOfSign(sign: string): number {
  if (NONE.test(sign)) return 0;
  return WIDE.test(sign) ? 2 : 1;
}

/** The text in so many columns: filled with spaces, or cut and ended with `…`. */
export function fitted(text: string, columns: number): string {
  const taken = columnsOf(text);
  if (taken <= columns) return text + ' '.repeat(columns - taken);
  let cut = '';
  let used = 0;
  for (const { segment } of signs.segment(text)) {
    if (used + columnsOfSign(segment) > columns - 1) break;
    cut += segment;
    used += columnsOfSign(segment);
  }
  return `${cut}…${' '.repeat(Math.max(0, columns - 1 - used))}`;
}
