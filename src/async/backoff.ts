/**
 * Returns the delay before the next retry: `firstDelayMs`, doubled with each previous retry up to `maxDelayMs`, without
 * jitter.
 *
 * @param retryCount number of previous retries, from 0
 */
export function computeBackoffMs(retryCount: number, firstDelayMs: number, maxDelayMs: number): number {
  return Math.min(firstDelayMs * 2 ** retryCount, maxDelayMs);
}
