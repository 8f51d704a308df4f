const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Graphemes two terminal columns wide: East Asian wide and full-width characters, and emoji. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2fb}\u{20000}-\u{3fffd}]|.+\ufe0f)/u;

const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** Width of a printable text in terminal columns. */
export function columnsOf(text: string): number {
  // Fast path: most texts are ASCII, and there may be thousands.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return [...graphemes.segment(text)].reduce((columns, { segment }) => columns + columnsOfGrapheme(segment), 0);
}

function columnsOfGrapheme(grapheme: string): number {
  if (ZERO_WIDTH.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** Fits a text to a number of columns: padded with spaces, or cut with `…`. */
export function fitted(text: string, columns: number): string {
  const taken = columnsOf(text);
  if (taken <= columns) return text + ' '.repeat(columns - taken);
  let cut = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    if (used + columnsOfGrapheme(segment) > columns - 1) break;
    cut += segment;
    used += columnsOfGrapheme(segment);
  }
  return `${cut}…${' '.repeat(Math.max(0, columns - 1 - used))}`;
}
