const SECONDS_PER_MINUTE = 60;
const SECONDS_PER_HOUR = 3_600;

/** Maximum duration of the time entries of one user on one day, in seconds. */
export const MAX_SECONDS_PER_DAY = 24 * SECONDS_PER_HOUR;

/** Formats seconds as hours and minutes, `1:05`; less than a minute is formatted with seconds, `0:00:45`. */
export function formatHoursAndMinutes(seconds: number): string {
  const padToTwoDigits = (value: number) => String(value).padStart(2, '0');
  const totalMinutes = Math.floor(seconds / SECONDS_PER_MINUTE);
  const formattedTime = `${Math.floor(totalMinutes / 60)}:${padToTwoDigits(totalMinutes % 60)}`;
  return totalMinutes === 0 && seconds > 0 ? `${formattedTime}:${padToTwoDigits(seconds)}` : formattedTime;
}

const HOURS_COLON_MINUTES_PATTERN = /^(\d{0,5}):([0-5]\d)(?::([0-5]\d))?$/;
const WHOLE_NUMBER_PATTERN = /^\d{1,5}$/;
const DECIMAL_PATTERN = /^\d{0,5}[.,]\d{1,4}$/;
const HOURS_AND_MINUTES_PATTERN = /^(\d{1,5}) ?h(?:rs?|ours?)? ?([0-5]?\d)$/;
const UNITS_PATTERN =
  /^(?:(\d{1,5}(?:[.,]\d{1,4})?) ?h(?:rs?|ours?)?)? ?(?:(\d{1,6}) ?m(?:ins?|inutes?)?)? ?(?:(\d{1,6}) ?s(?:ecs?|econds?)?)?$/;

/**
 * Maximum whole number that means hours if it has no unit. A larger number means minutes: `8` is 8 hours, `90` is 90
 * minutes.
 */
const MAX_BARE_HOURS = 24;

export const DURATION_FORMAT_HINT = 'Write the time as 1:30, 1.5, 1h 30m or 90m.';

/** Parses a duration such as `1:30`, `1.5`, `1h30`, `90m` or `90` to seconds; undefined if it is invalid. */
export function parseDuration(text: string): number | undefined {
  const normalizedText = text.trim().toLowerCase().replace(/\s+/g, ' ');
  if (WHOLE_NUMBER_PATTERN.test(normalizedText))
    return toSeconds(normalizedText, isBareMinutes(normalizedText) ? SECONDS_PER_MINUTE : SECONDS_PER_HOUR);
  if (DECIMAL_PATTERN.test(normalizedText)) return toSeconds(normalizedText, SECONDS_PER_HOUR);
  const match =
    HOURS_COLON_MINUTES_PATTERN.exec(normalizedText) ??
    HOURS_AND_MINUTES_PATTERN.exec(normalizedText) ??
    UNITS_PATTERN.exec(normalizedText);
  const [matchedText = '', hours, minutes, seconds] = match ?? [];
  // Reject `1.5h 10m` and `1h 75m`, which are probably typing errors.
  if (matchedText === '' || (hours && minutes && (/[.,]/.test(hours) || Number(minutes) >= 60))) return undefined;
  return toSeconds(hours, SECONDS_PER_HOUR) + toSeconds(minutes, SECONDS_PER_MINUTE) + toSeconds(seconds, 1);
}

const isBareMinutes = (numberText: string) => Number(numberText) > MAX_BARE_HOURS;

const toSeconds = (text = '0', unitSeconds: number) => Math.round(Number(`0${text.replace(',', '.')}`) * unitSeconds);

/** Returns the validation error of an entered duration; undefined if the duration is valid. */
export function validateDuration(text: string): string | undefined {
  const seconds = parseDuration(text);
  if (seconds === undefined) return DURATION_FORMAT_HINT;
  if (seconds === 0) return 'Enter a time above zero.';
  return seconds > MAX_SECONDS_PER_DAY ? 'A day has 24 hours. Enter at most 24:00.' : undefined;
}

/** Explains how a number without a unit is interpreted; undefined if the text has a unit or is invalid. */
export function explainBareNumber(text: string): string | undefined {
  const trimmedText = text.trim();
  const seconds = parseDuration(trimmedText);
  if (!WHOLE_NUMBER_PATTERN.test(trimmedText) || seconds === undefined || validateDuration(trimmedText) !== undefined)
    return undefined;
  if (isBareMinutes(trimmedText)) return `${trimmedText} minutes (${formatHoursAndMinutes(seconds)})`;
  return `${trimmedText} ${trimmedText === '1' ? 'hour' : 'hours'}. For minutes, write ${trimmedText}m.`;
}

/** Returns the Monday of the week that contains a day; both are `YYYY-MM-DD`. */
export function mondayOf(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  return date.toISOString().slice(0, 10);
}
