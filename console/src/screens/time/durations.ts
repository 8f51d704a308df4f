const MINUTE_S = 60;
const HOUR_S = 3_600;

/** Nobody works longer than this on one day. */
export const MAX_DAY_S = 24 * HOUR_S;

/** Seconds as hours and minutes: `1:05`. Less than a minute is shown to the second: `0:00:45`. */
export function showSeconds(seconds: number): string {
  const two = (part: number) => String(part).padStart(2, '0');
  const minutes = Math.floor(seconds / MINUTE_S);
  const shown = `${Math.floor(minutes / 60)}:${two(minutes % 60)}`;
  return minutes === 0 && seconds > 0 ? `${shown}:${two(seconds)}` : shown;
}

const CLOCK = /^(\d{0,5}):([0-5]\d)(?::([0-5]\d))?$/;
const WHOLE = /^\d{1,5}$/;
const DECIMAL = /^\d{0,5}[.,]\d{1,4}$/;
const HOURS_AND_MINUTES = /^(\d{1,5}) ?h(?:rs?|ours?)? ?([0-5]?\d)$/;
const UNITS =
  /^(?:(\d{1,5}(?:[.,]\d{1,4})?) ?h(?:rs?|ours?)?)? ?(?:(\d{1,6}) ?m(?:ins?|inutes?)?)? ?(?:(\d{1,6}) ?s(?:ecs?|econds?)?)?$/;

/** A whole number up to this is hours, above it minutes: nobody works 90 hours on a day. */
const MAX_BARE_HOURS = 24;

/** How a time is written. */
export const HOW_TO_WRITE = 'Write the time as 1:30, 1.5, 1h 30m or 90m.';

/** The seconds of a time as people write it: `1:30`, `1.5`, `1h30`, `90m`, `90`; undefined for anything else. */
export function readSeconds(text: string): number | undefined {
  const written = text.trim().toLowerCase().replace(/\s+/g, ' ');
  if (WHOLE.test(written)) return inSeconds(written, isMinutes(written) ? MINUTE_S : HOUR_S);
  if (DECIMAL.test(written)) return inSeconds(written, HOUR_S);
  const parts = CLOCK.exec(written) ?? HOURS_AND_MINUTES.exec(written) ?? UNITS.exec(written);
  const [all = '', hours, minutes, seconds] = parts ?? [];
  // Beside minutes, a fraction of an hour or more than 59 is more likely a typing error than a time.
  if (all === '' || (hours && minutes && (/[.,]/.test(hours) || Number(minutes) >= 60))) return undefined;
  return inSeconds(hours, HOUR_S) + inSeconds(minutes, MINUTE_S) + inSeconds(seconds, 1);
}

/** Whether a number without a unit is minutes. */
const isMinutes = (whole: string) => Number(whole) > MAX_BARE_HOURS;

const inSeconds = (text = '0', unit: number) => Math.round(Number(`0${text.replace(',', '.')}`) * unit);

/** What is wrong with a time that somebody has written; undefined for a time that can be logged. */
export function timeFault(text: string): string | undefined {
  const seconds = readSeconds(text);
  if (seconds === undefined) return HOW_TO_WRITE;
  if (seconds === 0) return 'Enter a time above zero.';
  return seconds > MAX_DAY_S ? 'A day has 24 hours. Enter at most 24:00.' : undefined;
}

/** How a number without a unit is read; undefined where what is written says so itself. */
export function bareHint(text: string): string | undefined {
  const written = text.trim();
  const seconds = readSeconds(written);
  if (!WHOLE.test(written) || seconds === undefined || timeFault(written) !== undefined) return undefined;
  if (isMinutes(written)) return `${written} minutes (${showSeconds(seconds)})`;
  return `${written} ${written === '1' ? 'hour' : 'hours'}. For minutes, write ${written}m.`;
}

/** The Monday of the week that a day lies in, both `YYYY-MM-DD`. */
export function mondayOf(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  return date.toISOString().slice(0, 10);
}
