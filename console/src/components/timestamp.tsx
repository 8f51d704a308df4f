/** The zero timestamp of the API. It means that something has never happened. */
const ZERO_TIMESTAMP = '0000-00-00 00:00:00';

/** Units of relative times with their length in seconds, longest first. */
const TIME_UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

const relativeTimeFormat = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const exactDateTimeFormat = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

/** Parses a UTC timestamp of the API; undefined for the zero timestamp. */
export function parseTimestamp(text: string): Date | undefined {
  return text === ZERO_TIMESTAMP ? undefined : new Date(`${text.replace(' ', 'T')}Z`);
}

/** Formats a time relative to now: `3 minutes ago`, `in 2 days`. */
function formatRelativeTime(date: Date, now = Date.now()): string {
  const secondsFromNow = Math.round((date.getTime() - now) / 1_000);
  const [unit, unitSeconds] = TIME_UNITS.find(([, minSeconds]) => Math.abs(secondsFromNow) >= minSeconds) ?? [
    'second',
    1,
  ];
  return Math.abs(secondsFromNow) < 10
    ? 'just now'
    : relativeTimeFormat.format(Math.trunc(secondsFromNow / unitSeconds), unit);
}

/** Shows an API timestamp as relative time; the tooltip shows the exact time. */
export function RelativeTime({
  timestamp,
  neverText = 'never',
}: {
  readonly timestamp: string;
  readonly neverText?: string;
}) {
  const date = parseTimestamp(timestamp);
  if (date === undefined) return <span class="soft">{neverText}</span>;
  return (
    <time class="number" dateTime={date.toISOString()} title={exactDateTimeFormat.format(date)}>
      {formatRelativeTime(date)}
    </time>
  );
}

/** Formats of `ClockTime`: for a time on the current day, and for any other time. */
const todayTimeFormat = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const otherDayTimeFormat = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

/** Shows an API timestamp as local time, `14:02:11`, with the date unless it is today. The tooltip shows UTC. */
export function ClockTime({
  timestamp,
  neverText = 'never',
}: {
  readonly timestamp: string;
  readonly neverText?: string;
}) {
  const date = parseTimestamp(timestamp);
  if (date === undefined) return <span class="soft">{neverText}</span>;
  const clockFormat = date.toDateString() === new Date().toDateString() ? todayTimeFormat : otherDayTimeFormat;
  return (
    <time class="number" dateTime={date.toISOString()} title={`${timestamp} UTC`}>
      {clockFormat.format(date)}
    </time>
  );
}

/** Formats a duration: `12 ms`, `1.2 s`, `1 min 5 s`, `29 min`, `1 h 58 min`, `2 d 3 h`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 10_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3_600)} h`;
}
