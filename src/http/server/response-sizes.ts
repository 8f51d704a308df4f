/** Maximum number of cached sizes. Beyond it, the size that was recorded longest ago is evicted. */
const MAX_CACHED_SIZES = 10_000;

/** Minimum size of a large response. Smaller sizes are not recorded. */
export const MIN_LARGE_RESPONSE_BYTES = 64 * 1_024;

/**
 * Records the size of the last large response for each user and route. The next response is expected to be as large: if
 * the quota of unread responses has no capacity for it, the request is rejected before any work is done.
 */
export class ResponseSizes {
  readonly #bytesByUserAndRoute = new Map<string, number>();

  expectedBytesOf(userId: number, path: string): number {
    return this.#bytesByUserAndRoute.size === 0 ? 0 : (this.#bytesByUserAndRoute.get(`${userId} ${path}`) ?? 0);
  }

  recordSize(userId: number, path: string, bytes: number): void {
    if (bytes < MIN_LARGE_RESPONSE_BYTES && this.#bytesByUserAndRoute.size === 0) return;
    const userRouteKey = `${userId} ${path}`;
    this.#bytesByUserAndRoute.delete(userRouteKey);
    if (bytes < MIN_LARGE_RESPONSE_BYTES) return;
    const [oldestKey] = this.#bytesByUserAndRoute.keys();
    if (this.#bytesByUserAndRoute.size >= MAX_CACHED_SIZES && oldestKey !== undefined)
      this.#bytesByUserAndRoute.delete(oldestKey);
    this.#bytesByUserAndRoute.set(userRouteKey, bytes);
  }
}
