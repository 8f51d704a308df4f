const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads a duration such as `15s`, `2h`, `30d`, `250ms` as milliseconds, or undefined if it is none. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null) return undefined;
  return Number(match[1]) * UNITS_MS[match[2] as keyof typeof UNITS_MS];
}

/** So many within so many seconds. */
export type Rate = { readonly count: number; readonly windowS: number };

const WINDOWS_S = { s: 1, m: 60, h: 3_600 } as const;

/** Reads a rate such as `100/s`, `6000/m` or `1000/h`; undefined if it is none. */
export function parseRate(text: string): Rate | undefined {
  const match = /^([1-9]\d{0,6})\/([smh])$/.exec(text.trim());
  if (match === null) return undefined;
  return { count: Number(match[1]), windowS: WINDOWS_S[match[2] as keyof typeof WINDOWS_S] };
}

const UTC = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;

/** A life longer than a century is a slip of the pen, and would leave the calendar's four-digit years. */
const MAX_LIFETIME_MS = 36_500 * UNITS_MS.d;

/** When something is to end: so many milliseconds from now, at a moment (since the epoch, UTC), or never. */
export type Expiry = { readonly afterMs: number } | { readonly at: number } | null;

/**
 * Reads `30d`, `12h`, `4s`, or `YYYY-MM-DD HH:MM:SS` in UTC; empty or null for never. Undefined if it is none of these,
 * no real day, or longer than a century.
 */
export function parseExpiry(value: unknown): Expiry | undefined {
  if (value === '' || value === null) return null;
  if (typeof value !== 'string') return undefined;
  const afterMs = parseDuration(value);
  if (afterMs !== undefined) return afterMs <= MAX_LIFETIME_MS ? { afterMs } : undefined;
  const at = UTC.test(value) ? Date.parse(`${value.replace(' ', 'T')}Z`) : Number.NaN;
  // Date.parse rolls 30 February over into March; only a moment that reads back as it was written is one (C9).
  const isReal = !Number.isNaN(at) && new Date(at).toISOString().startsWith(value.replace(' ', 'T'));
  return isReal ? { at } : undefined;
}

/** When that is, milliseconds since the epoch; null for never. */
export function momentOf(expiry: Expiry, now: number): number | null {
  if (expiry === null) return null;
  return 'at' in expiry ? expiry.at : now + expiry.afterMs;
}
