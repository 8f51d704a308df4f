/** Bytes that arrive in pieces, in one buffer: many small pieces take no more memory than a few large ones. */
export class GrowingBuffer {
  #buffer = Buffer.of();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Adds a copy: a piece may be a view of the buffer that sockets are read into. */
  add(piece: Uint8Array): void {
    const needed = this.#length + piece.length;
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    this.#buffer.set(piece, this.#length);
    this.#length = needed;
  }

  /** All of it so far. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }
}
