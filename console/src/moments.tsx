/** What the service writes for never. */
const NEVER = '0000-00-00 00:00:00';

const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

/** A moment that the service wrote, in UTC; undefined for never. */
export function momentOf(text: string): Date | undefined {
  return text === NEVER ? undefined : new Date(`${text.replace(' ', 'T')}Z`);
}

/** How long ago, or how far ahead: `3 minutes ago`, `in 2 days`. */
export function distance(moment: Date, now = Date.now()): string {
  const seconds = Math.round((moment.getTime() - now) / 1_000);
  const [unit, length] = UNITS.find(([, least]) => Math.abs(seconds) >= least) ?? ['second', 1];
  return Math.abs(seconds) < 10 ? 'just now' : relative.format(Math.trunc(seconds / length), unit);
}

/** A moment that the service wrote, by its distance; the moment itself shows when one points at it. */
export function Moment({ at, never = 'never' }: { readonly at: string; readonly never?: string }) {
  const moment = momentOf(at);
  if (moment === undefined) return <span class="soft">{never}</span>;
  return (
    <time class="number" dateTime={moment.toISOString()} title={exact.format(moment)}>
      {distance(moment)}
    </time>
  );
}
