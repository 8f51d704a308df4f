const DAY_MS = 24 * 3_600_000;

/** Maximum lifetime of a session, and its lifetime without use. */
export const SESSION_TTL_MS = 30 * DAY_MS;
export const IDLE_TTL_MS = 14 * DAY_MS;

/** When a session expires, milliseconds since the epoch. */
export function endOf({ expires_at, last_used }: { expires_at: number; last_used: number }): number {
  return Math.min(expires_at, last_used + IDLE_TTL_MS);
}
