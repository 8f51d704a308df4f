/**
 * Returns an exponential backoff: `firstDelayMs`, doubled with each previous retry up to `maxDelayMs`, without jitter.
 * The retries of a hook have a fixed schedule instead (`delivery/dispatcher/retry-policy.ts`).
 *
 * @param retryCount number of previous retries, from 0
 */
export function computeBackoffMs(retryCount: number, firstDelayMs: number, maxDelayMs: number): number {
  return Math.min(firstDelayMs * 2 ** retryCount, maxDelayMs);
}
