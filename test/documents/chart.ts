/** One bar: its middle, and from where to where it lay from round to round. */
export type Bar = {
  readonly name: string;
  readonly colour: string;
  readonly median: number;
  readonly least: number;
  readonly most: number;
};

const WIDTH = 860;
const NAMES = 330;
const NUMBERS = 90;
const ROW = 26;
const HEAD = 34;

/** Bars below each other, the longest as long as there is room; a line shows from where to where each lay. */
export function chart(title: string, unit: string, bars: readonly Bar[]): string {
  const largest = Math.max(...bars.map(({ most }) => most));
  const room = WIDTH - NAMES - NUMBERS;
  const x = (value: number) => (NAMES + (room * value) / largest).toFixed(1);
  const height = HEAD + bars.length * ROW + 8;
  const lines = bars.map(({ name, colour, median, least, most }, index) => {
    const y = HEAD + index * ROW;
    const middle = y + ROW / 2;
    return [
      `<text x="${NAMES - 8}" y="${middle + 4}" text-anchor="end">${escaped(name)}</text>`,
      `<rect x="${NAMES}" y="${y + 5}" width="${((room * median) / largest).toFixed(1)}" height="${ROW - 10}" fill="${colour}"/>`,
      `<path d="M${x(least)} ${middle}H${x(most)}" stroke="#222" stroke-width="1.5"/>`,
      `<text x="${WIDTH - NUMBERS + 8}" y="${middle + 4}">${shortly(median)}</text>`,
    ].join('');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="8" y="22" font-weight="600">${escaped(title)}</text><text x="${WIDTH - 8}" y="22" text-anchor="end">${escaped(unit)}</text>`,
    ...lines,
    '</svg>\n',
  ].join('\n');
}

/** Three digits are as many as any of this is worth. */
export function shortly(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
