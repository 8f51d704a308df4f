import { folded } from './text.ts';

/** What the machine knows of time zones, by their IANA names. */

/** By names in lower case: whoever spells one zone in a thousand ways fills no memory. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const key = zone.toLowerCase();
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
    formats.set(key, format);
  }
  return format;
}

/** Whether a text is the name of a zone: of a place, or UTC; offsets are none. */
export function isZone(text: string): boolean {
  if (!/^[A-Za-z][\w+/-]{0,63}$/.test(text)) return false;
  try {
    formatOf(text);
    return true;
  } catch {
    return false;
  }
}

/** How far a zone is ahead of UTC at a moment, seconds. */
export function offsetAt(zone: string, atMs: number): number {
  const parts = formatOf(zone).formatToParts(atMs);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours, minutes, seconds] = /([+-])(\d{2}):(\d{2})(?::(\d{2}))?/.exec(name) ?? [];
  if (sign === undefined) return 0;
  const total = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds ?? 0);
  return sign === '-' ? -total : total;
}

/** A moment as clocks in a zone show it, `YYYY-MM-DD HH:MM:SS`. */
export function localAt(zone: string, atMs: number): string {
  return shown(atMs, offsetAt(zone, atMs));
}

type Change = { readonly atMs: number; readonly from: number; readonly to: number };

const WEEK_MS = 7 * 86_400_000;

/** What was found last of each zone: it takes milliseconds, and every program that asks on a day asks for the same. */
const found = new Map<string, { fromMs: number; untilMs: number; changes: readonly Change[] }>();

/** When clocks in a zone are changed, from a moment up to another. */
function changesIn(zone: string, fromMs: number, untilMs: number): readonly Change[] {
  const key = zone.toLowerCase();
  const before = found.get(key);
  if (before?.fromMs === fromMs && before.untilMs === untilMs) return before.changes;
  const changes = lookForChanges(zone, fromMs, untilMs);
  found.set(key, { fromMs, untilMs, changes });
  return changes;
}

/** No zone changes its clocks twice within a week. */
function lookForChanges(zone: string, fromMs: number, untilMs: number): readonly Change[] {
  const changes: Change[] = [];
  let before = offsetAt(zone, fromMs);
  for (let low = fromMs; low < untilMs; low += WEEK_MS) {
    const after = offsetAt(zone, low + WEEK_MS);
    if (after !== before) changes.push({ atMs: changeIn(zone, low, low + WEEK_MS, before), from: before, to: after });
    before = after;
  }
  return changes;
}

/** The second at which the offset is not `before` any more. */
function changeIn(zone: string, fromMs: number, untilMs: number, before: number): number {
  let [low, high] = [fromMs / 1_000, untilMs / 1_000];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(zone, middle * 1_000) === before) low = middle;
    else high = middle;
  }
  return high * 1_000;
}

/** A zone, as far as another program has to know it. */
export type Zone = {
  readonly name: string;
  /** What stands in a calendar of it; nothing for UTC, which everybody knows. */
  readonly text: string;
  /** Times that no clock shows, since it is put forward: from one on, up to another. */
  readonly gaps: readonly { readonly from: string; readonly until: string }[];
};

/** A zone from a moment on up to another, whole seconds. */
export function zoneAround(name: string, fromMs: number, untilMs: number): Zone {
  if (name === 'UTC') return { name, text: '', gaps: [] };
  const forward = changesIn(name, fromMs, untilMs).filter(({ from, to }) => to > from);
  const gaps = forward.map(({ atMs, from, to }) => ({ from: shown(atMs, from), until: shown(atMs, to) }));
  return { name, text: zoneText(name, fromMs, untilMs), gaps };
}

/** A moment as clocks show it that are so many seconds ahead of UTC. */
function shown(atMs: number, offset: number): string {
  return new Date(atMs + offset * 1_000).toISOString().slice(0, 19).replace('T', ' ');
}

/**
 * A zone as a VTIMEZONE, right from a moment on up to another, with each change of its clocks by itself: what a rule
 * would say of the years to come, governments change.
 *
 * @param fromMs a whole second
 */
export function zoneText(zone: string, fromMs: number, untilMs: number): string {
  const changes = changesIn(zone, fromMs, untilMs);
  const first = offsetAt(zone, fromMs);
  const lowest = Math.min(first, ...changes.map(({ to }) => to));
  const observances = [{ atMs: fromMs, from: first, to: first }, ...changes].map(({ atMs, from, to }) => {
    const part = to > lowest ? 'DAYLIGHT' : 'STANDARD';
    const begins = shown(atMs, from).replace(/[-:]/g, '').replace(' ', 'T');
    return [
      `BEGIN:${part}`,
      `DTSTART:${begins}`,
      `TZOFFSETFROM:${shownOffset(from)}`,
      `TZOFFSETTO:${shownOffset(to)}`,
      `END:${part}`,
    ];
  });
  return ['BEGIN:VTIMEZONE', `TZID:${zone}`, ...observances.flat(), 'END:VTIMEZONE'].map(folded).join('');
}

function shownOffset(seconds: number): string {
  const two = (number: number) => String(number).padStart(2, '0');
  const total = Math.abs(seconds);
  const rest = total % 60 === 0 ? '' : two(total % 60);
  return `${seconds < 0 ? '-' : '+'}${two(Math.floor(total / 3_600))}${two(Math.floor(total / 60) % 60)}${rest}`;
}
