/** Collects chunks in one buffer, so that many small chunks take no more memory than a few large ones. */
export class GrowingBuffer {
  #buffer = Buffer.of();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Appends a copy: the chunk may be a view of a buffer that the socket reuses. */
  add(chunk: Uint8Array): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = needed;
  }

  /** A view of all bytes so far; valid until the next `add`. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }
}
