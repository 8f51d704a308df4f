import { foldLine } from './text.ts';

// Time zones are identified by their IANA names and read from the time zone database of the runtime (Intl).

/** Cache of formats by zone name in lower case, so that different spellings of a zone share one format. */
const dateFormatsByZone = new Map<string, Intl.DateTimeFormat>();

function getDateFormat(zoneName: string): Intl.DateTimeFormat {
  const cacheKey = zoneName.toLowerCase();
  let format = dateFormatsByZone.get(cacheKey);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en', { timeZone: zoneName, timeZoneName: 'longOffset' });
    dateFormatsByZone.set(cacheKey, format);
  }
  return format;
}

/** Whether a text is the IANA name of a zone. Offsets such as +01:00 are not zone names. */
export function isZoneName(text: string): boolean {
  if (!/^[A-Za-z][\w+/-]{0,63}$/.test(text)) return false;
  try {
    getDateFormat(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the offset of a zone from UTC at a time, in seconds. It is positive for zones ahead of UTC. */
export function offsetSecondsAt(zoneName: string, utcMs: number): number {
  const parts = getDateFormat(zoneName).formatToParts(utcMs);
  const offsetName = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours, minutes, seconds] = /([+-])(\d{2}):(\d{2})(?::(\d{2}))?/.exec(offsetName) ?? [];
  if (sign === undefined) return 0;
  const totalSeconds = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds ?? 0);
  return sign === '-' ? -totalSeconds : totalSeconds;
}

/** Returns the local time of a zone, `YYYY-MM-DD HH:MM:SS`. */
export function localTimeAt(zoneName: string, utcMs: number): string {
  return formatLocalTime(utcMs, offsetSecondsAt(zoneName, utcMs));
}

/** A change of the offset from UTC: the time of the change in milliseconds, and both offsets in seconds. */
type OffsetChange = { readonly atMs: number; readonly from: number; readonly to: number };

const WEEK_MS = 7 * 86_400_000;

/**
 * The last result of `getOffsetChanges` for each zone. Computing a result takes milliseconds, and all calendars that
 * are written on one day need the same range.
 */
const cachedChangesByZone = new Map<string, { fromMs: number; untilMs: number; changes: readonly OffsetChange[] }>();

/** Returns the offset changes of a zone in a range of time. The result is cached. */
function getOffsetChanges(zoneName: string, fromMs: number, untilMs: number): readonly OffsetChange[] {
  const cacheKey = zoneName.toLowerCase();
  const cachedResult = cachedChangesByZone.get(cacheKey);
  if (cachedResult?.fromMs === fromMs && cachedResult.untilMs === untilMs) return cachedResult.changes;
  const changes = findOffsetChanges(zoneName, fromMs, untilMs);
  cachedChangesByZone.set(cacheKey, { fromMs, untilMs, changes });
  return changes;
}

/** Finds offset changes by sampling the offset once a week. No zone changes its offset twice within a week. */
function findOffsetChanges(zoneName: string, fromMs: number, untilMs: number): readonly OffsetChange[] {
  const changes: OffsetChange[] = [];
  let offsetBeforeSeconds = offsetSecondsAt(zoneName, fromMs);
  for (let weekStartMs = fromMs; weekStartMs < untilMs; weekStartMs += WEEK_MS) {
    const offsetAfterSeconds = offsetSecondsAt(zoneName, weekStartMs + WEEK_MS);
    if (offsetAfterSeconds !== offsetBeforeSeconds)
      changes.push({
        atMs: findChangeMs(zoneName, weekStartMs, weekStartMs + WEEK_MS, offsetBeforeSeconds),
        from: offsetBeforeSeconds,
        to: offsetAfterSeconds,
      });
    offsetBeforeSeconds = offsetAfterSeconds;
  }
  return changes;
}

/** Finds the first second whose offset is not `offsetBeforeSeconds`, by binary search. Returns it in milliseconds. */
function findChangeMs(zoneName: string, fromMs: number, untilMs: number, offsetBeforeSeconds: number): number {
  let [low, high] = [fromMs / 1_000, untilMs / 1_000];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetSecondsAt(zoneName, middle * 1_000) === offsetBeforeSeconds) low = middle;
    else high = middle;
  }
  return high * 1_000;
}

/** A time zone as it is written to a calendar. */
export type CalendarZone = {
  readonly name: string;
  /** The VTIMEZONE of the zone; empty for UTC, which needs none. */
  readonly vtimezone: string;
  /** Ranges of local time that clocks skip when they go forward. `until` is exclusive. */
  readonly gaps: readonly { readonly from: string; readonly until: string }[];
};

/** Creates the zone for a range of time. The range begins and ends at whole seconds. */
export function createCalendarZone(name: string, fromMs: number, untilMs: number): CalendarZone {
  if (name === 'UTC') return { name, vtimezone: '', gaps: [] };
  const forwardChanges = getOffsetChanges(name, fromMs, untilMs).filter(({ from, to }) => to > from);
  const gaps = forwardChanges.map(({ atMs, from, to }) => ({
    from: formatLocalTime(atMs, from),
    until: formatLocalTime(atMs, to),
  }));
  return { name, vtimezone: writeVtimezone(name, fromMs, untilMs), gaps };
}

/** Formats the local time at an offset from UTC, which is given in seconds. */
function formatLocalTime(utcMs: number, offsetSeconds: number): string {
  return new Date(utcMs + offsetSeconds * 1_000).toISOString().slice(0, 19).replace('T', ' ');
}

/**
 * Writes a VTIMEZONE that is exact for a range of time. It lists each offset change instead of a recurrence rule,
 * because a rule would also apply to later years, in which the law may be different.
 *
 * @param fromMs a whole second, in milliseconds since the epoch
 */
function writeVtimezone(zoneName: string, fromMs: number, untilMs: number): string {
  const changes = getOffsetChanges(zoneName, fromMs, untilMs);
  const firstOffsetSeconds = offsetSecondsAt(zoneName, fromMs);
  const lowestOffsetSeconds = Math.min(firstOffsetSeconds, ...changes.map(({ to }) => to));
  const observances = [{ atMs: fromMs, from: firstOffsetSeconds, to: firstOffsetSeconds }, ...changes].map(
    ({ atMs, from, to }) => {
      const componentName = to > lowestOffsetSeconds ? 'DAYLIGHT' : 'STANDARD';
      const start = formatLocalTime(atMs, from).replace(/[-:]/g, '').replace(' ', 'T');
      return [
        `BEGIN:${componentName}`,
        `DTSTART:${start}`,
        `TZOFFSETFROM:${formatOffset(from)}`,
        `TZOFFSETTO:${formatOffset(to)}`,
        `END:${componentName}`,
      ];
    },
  );
  return ['BEGIN:VTIMEZONE', `TZID:${zoneName}`, ...observances.flat(), 'END:VTIMEZONE'].map(foldLine).join('');
}

function formatOffset(seconds: number): string {
  const formatTwoDigits = (number: number) => String(number).padStart(2, '0');
  const totalSeconds = Math.abs(seconds);
  const secondsPart = totalSeconds % 60 === 0 ? '' : formatTwoDigits(totalSeconds % 60);
  return `${seconds < 0 ? '-' : '+'}${formatTwoDigits(Math.floor(totalSeconds / 3_600))}${formatTwoDigits(Math.floor(totalSeconds / 60) % 60)}${secondsPart}`;
}
