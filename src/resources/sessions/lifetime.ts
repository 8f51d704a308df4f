const DAY_MS = 24 * 3_600_000;

/** Maximum lifetime of a session. */
export const SESSION_TTL_MS = 30 * DAY_MS;
/** Maximum time between two uses of a session. An unused session expires after this time. */
export const SESSION_IDLE_TTL_MS = 14 * DAY_MS;

/** Returns when a session expires, in milliseconds since the epoch. */
export function sessionExpiryOf({ expires_at, last_used }: { expires_at: number; last_used: number }): number {
  return Math.min(expires_at, last_used + SESSION_IDLE_TTL_MS);
}
