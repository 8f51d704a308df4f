/** An invalid flag. The message is printed as one line, without a stack. */
export class UsageError extends Error {}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** @param count how many successive ports are needed */
export function parsePort(text: string, count: number): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port === 0 || (port >= 1 && port + count - 1 <= 65_535)) return port;
  throw new UsageError(`--port must be a number from 0 to ${65_536 - count}, not ${text}`);
}

export function parseDuration(flag: string, text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})(ms|s|m|h)$/.exec(text.trim()) ?? [];
  const ms = Number(count) * (UNITS_MS[unit] ?? Number.NaN);
  if (ms >= 1 && ms <= 3_600_000) return ms;
  throw new UsageError(`--${flag} must be a duration from 1ms to 1h, such as 15s, not ${text}`);
}

export function parseSeed(text: string | undefined): number {
  if (text === undefined) return Math.floor(Math.random() * 2 ** 31);
  if (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 32) return Number(text);
  throw new UsageError(`--seed must be an integer from 0 to ${2 ** 32 - 1}, not ${text}`);
}
