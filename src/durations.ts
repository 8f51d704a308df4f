const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses a duration such as `15s`, `2h`, `30d`, `250ms` to milliseconds; undefined if it is invalid. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null) return undefined;
  return Number(match[1]) * UNITS_MS[match[2] as keyof typeof UNITS_MS];
}

/** A rate limit: at most `count` requests per `windowSeconds`. */
export type RequestRate = { readonly count: number; readonly windowSeconds: number };

const RATE_WINDOWS_S = { s: 1, m: 60, h: 3_600 } as const;

/** Parses a rate such as `100/s`, `6000/m` or `1000/h`; undefined if it is invalid. */
export function parseRate(text: string): RequestRate | undefined {
  const match = /^([1-9]\d{0,6})\/([smh])$/.exec(text.trim());
  if (match === null) return undefined;
  return { count: Number(match[1]), windowSeconds: RATE_WINDOWS_S[match[2] as keyof typeof RATE_WINDOWS_S] };
}

const UTC_TIME_PATTERN = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;

/** Maximum lifetime: a century. A longer lifetime is a mistake, and its end could be after the year 9999. */
const MAX_LIFETIME_MS = 36_500 * UNITS_MS.d;

/** When something expires: milliseconds from now, a timestamp (milliseconds since the epoch), or null for never. */
export type Expiry = { readonly afterMs: number } | { readonly at: number } | null;

/**
 * Parses an expiry: a duration such as `30d` or `12h`, or a time `YYYY-MM-DD HH:MM:SS` in UTC. Empty or null means
 * never. Returns undefined for invalid text, a day that does not exist, or a duration longer than a century.
 */
export function parseExpiry(value: unknown): Expiry | undefined {
  if (value === '' || value === null) return null;
  if (typeof value !== 'string') return undefined;
  const afterMs = parseDuration(value);
  if (afterMs !== undefined) return afterMs <= MAX_LIFETIME_MS ? { afterMs } : undefined;
  const expiresAt = UTC_TIME_PATTERN.test(value) ? Date.parse(`${value.replace(' ', 'T')}Z`) : Number.NaN;
  // `Date.parse` turns 30 February into 2 March. So a valid time must format to the same text again (C9).
  const isValidTime = !Number.isNaN(expiresAt) && new Date(expiresAt).toISOString().startsWith(value.replace(' ', 'T'));
  return isValidTime ? { at: expiresAt } : undefined;
}

/** Returns the time of an expiry, milliseconds since the epoch; null for never. */
export function computeExpiryTimestamp(expiry: Expiry, now: number): number | null {
  if (expiry === null) return null;
  return 'at' in expiry ? expiry.at : now + expiry.afterMs;
}
