import { rounded } from '../../bench/measured.ts';

/** One bar: its middle, and from where to where it lay from round to round. */
export type Bar = {
  readonly name: string;
  readonly colour: string;
  readonly median: number;
  readonly least: number;
  readonly most: number;
};

const WIDTH = 860;
const LEAST_NAMES = 330;
/** As wide as a letter is at most, on average. */
const LETTER = 6.7;
const NUMBERS = 90;
const ROW = 26;
const HEAD = 34;

/**
 * Bars below each other, the longest as long as there is room; a line shows from where to where each lay. What is less than
 * nothing goes to the left, from where nothing is.
 */
export function chart(title: string, unit: string, bars: readonly Bar[]): string {
  const smallest = Math.min(0, ...bars.map(({ least }) => least));
  const largest = Math.max(0, ...bars.map(({ most }) => most));
  const names = Math.max(LEAST_NAMES, ...bars.map(({ name }) => Math.round(name.length * LETTER) + 16));
  const width = WIDTH - LEAST_NAMES + names;
  const room = width - names - NUMBERS;
  const at = (value: number) => names + (room * (value - smallest)) / (largest - smallest || 1);
  const x = (value: number) => at(value).toFixed(1);
  const height = HEAD + bars.length * ROW + 8;
  const lines = bars.map(({ name, colour, median, least, most }, index) => {
    const y = HEAD + index * ROW;
    const middle = y + ROW / 2;
    return [
      `<text x="${names - 8}" y="${middle + 4}" text-anchor="end">${escaped(name)}</text>`,
      `<rect x="${Number(x(Math.min(0, median)))}" y="${y + 5}" width="${Math.abs(at(median) - at(0)).toFixed(1)}" height="${ROW - 10}" fill="${colour}"/>`,
      `<path d="M${x(least)} ${middle}H${x(most)}" stroke="#222" stroke-width="1.5"/>`,
      `<text x="${width - NUMBERS + 8}" y="${middle + 4}">${shortly(median)}</text>`,
    ].join('');
  });
  return framed({ title, unit, width, height }, lines);
}

/** One line: what grows, and what becomes of it. */
export type Line = { readonly name: string; readonly points: readonly (readonly [at: number, value: number])[] };

const strokes = ['#3f6fb5', '#e0a458', '#5a9367', '#8d5a97'];
const PLOT = { left: 60, top: HEAD + 14, height: 220, across: 550 };
const LEAST_LEGEND = 250;

/** Lines over what grows: each step along is ten times as much, upwards it is as it is, from zero. */
export function curve(
  title: string,
  { along, unit }: { readonly along: string; readonly unit: string },
  lines: readonly Line[],
): string {
  const places = [...new Set(lines.flatMap(({ points }) => points.map(([at]) => at)))];
  const largest = Math.max(...lines.flatMap(({ points }) => points.map(([, value]) => value))) || 1;
  const [first, last] = [Math.log(Math.min(...places)), Math.log(Math.max(...places))];
  const legend = Math.max(LEAST_LEGEND, ...lines.map(({ name }) => Math.round((name.length + 8) * LETTER) + 12));
  const bottom = PLOT.top + PLOT.height;
  const x = (at: number) => (PLOT.left + (PLOT.across * (Math.log(at) - first)) / (last - first || 1)).toFixed(1);
  const y = (value: number) => (bottom - (PLOT.height * value) / largest).toFixed(1);
  const drawn = lines.map(({ name, points }, index) => {
    const colour = strokes[index % strokes.length];
    const [, end = 0] = points.at(-1) ?? [];
    return [
      `<path d="M${points.map(([at, value]) => `${x(at)} ${y(value)}`).join('L')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...points.map(([at, value]) => `<circle cx="${x(at)}" cy="${y(value)}" r="3" fill="${colour}"/>`),
      `<text x="${PLOT.left + PLOT.across + 12}" y="${PLOT.top + 16 + index * 20}" fill="${colour}">${escaped(name)}: ${shortly(end)}</text>`,
    ].join('');
  });
  const height = bottom + 44;
  return framed({ title, unit, width: PLOT.left + PLOT.across + legend, height }, [
    `<path d="M${PLOT.left} ${PLOT.top}V${bottom}H${PLOT.left + PLOT.across}" fill="none" stroke="#888"/>`,
    `<text x="${PLOT.left - 6}" y="${PLOT.top + 4}" text-anchor="end">${shortly(largest)}</text><text x="${PLOT.left - 6}" y="${bottom}" text-anchor="end">0</text>`,
    ...places.map((at) => `<text x="${x(at)}" y="${bottom + 18}" text-anchor="middle">${shortly(at)}</text>`),
    `<text x="${PLOT.left + PLOT.across}" y="${bottom + 36}" text-anchor="end">${escaped(along)}</text>`,
    ...drawn,
  ]);
}

/** What every drawing has around it; it says what it is to whoever cannot see it, too. */
function framed(
  { title, unit, width, height }: { title: string; unit: string; width: number; height: number },
  lines: readonly string[],
): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="13">`,
    `<title>${escaped(`${title}, ${unit}`)}</title>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="8" y="22" font-weight="600">${escaped(title)}</text><text x="${width - 8}" y="22" text-anchor="end">${escaped(unit)}</text>`,
    ...lines,
    '</svg>\n',
  ].join('\n');
}

/** A figure as it is read. */
export function shortly(value: number): string {
  return (rounded(value) ?? Number.NaN).toLocaleString('en');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
