/** Maximum number of cached sizes. Beyond it, the size that was recorded longest ago is evicted. */
const MAX_CACHED_SIZES = 10_000;

/** Minimum size of a large response. Smaller sizes are not recorded. */
export const MIN_LARGE_RESPONSE_BYTES = 64 * 1_024;

/**
 * Records the size of the last large response of each user and route. The next response is expected to be as large, so
 * that its request can be rejected before any work is done.
 */
export class ResponseSizes {
  readonly #bytes = new Map<string, number>();

  expectedBytes(userId: number, path: string): number {
    return this.#bytes.size === 0 ? 0 : (this.#bytes.get(`${userId} ${path}`) ?? 0);
  }

  record(userId: number, path: string, bytes: number): void {
    if (bytes < MIN_LARGE_RESPONSE_BYTES && this.#bytes.size === 0) return;
    const key = `${userId} ${path}`;
    this.#bytes.delete(key);
    if (bytes < MIN_LARGE_RESPONSE_BYTES) return;
    const [oldest] = this.#bytes.keys();
    if (this.#bytes.size >= MAX_CACHED_SIZES && oldest !== undefined) this.#bytes.delete(oldest);
    this.#bytes.set(key, bytes);
  }
}
