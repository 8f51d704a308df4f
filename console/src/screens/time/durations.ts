/** Seconds as hours and minutes: `1:05`, `0:00`. */
export function showSeconds(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`;
}

const CLOCK = /^(\d{1,5}):([0-5]\d)$/;
const UNITS = /^(?:(\d{1,5}(?:[.,]\d+)?)\s*h)?\s*(?:(\d{1,6})\s*m(?:in)?)?$/i;
const HOURS = /^\d{1,5}(?:[.,]\d+)?$/;

/** How a time is written. */
export const HOW_TO_WRITE = 'Write it as 1:30, 1.5 or 90m.';

/** What somebody writes for a time, in seconds: `1:30`, `1.5`, `1h 30m`, `90m`; undefined if it is none. */
export function readSeconds(text: string): number | undefined {
  const written = text.trim();
  const [, hours, minutes] = CLOCK.exec(written) ?? [];
  if (hours !== undefined) return Number(hours) * 3_600 + Number(minutes) * 60;
  if (HOURS.test(written)) return inSeconds(written, 3_600);
  const [, h = '', m = ''] = UNITS.exec(written) ?? [];
  return h + m === '' ? undefined : inSeconds(h || '0', 3_600) + inSeconds(m || '0', 60);
}

const inSeconds = (text: string, unit: number) => Math.round(Number(text.replace(',', '.')) * unit);

/** The Monday of the week that a day lies in, both `YYYY-MM-DD`. */
export function mondayOf(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  return date.toISOString().slice(0, 10);
}
