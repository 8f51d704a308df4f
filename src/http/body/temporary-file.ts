import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../../problems.ts';

/** A temporary file with a text that a child process reads. */
export class TemporaryTextFile {
  readonly #handle: FileHandle;
  readonly #remove: () => Promise<void>;

  private constructor(handle: FileHandle, remove: () => Promise<void>) {
    this.#handle = handle;
    this.#remove = remove;
  }

  /** Creates an empty file. Rejects with the problem `storage_unavailable` if that fails. */
  static async create(): Promise<TemporaryTextFile> {
    try {
      const folder = await mkdtemp(join(tmpdir(), 'carillon-text-'));
      const handle = await open(join(folder, 'text'), 'wx+', 0o600);
      const remove = () => rm(folder, { recursive: true, force: true });
      // Unlink the open file where the system allows it, so that nothing is left behind even after a crash.
      const isRemoved = await remove().then(
        () => true,
        () => false,
      );
      return new TemporaryTextFile(handle, isRemoved ? async () => undefined : remove);
    } catch (cause) {
      throw new Problem('storage_unavailable', { cause });
    }
  }

  /** The file descriptor, which can be passed to a child process; valid until `close`. */
  get fd(): number {
    return this.#handle.fd;
  }

  async write(text: string): Promise<void> {
    try {
      await this.#handle.writeFile(text);
    } catch (cause) {
      throw new Problem('storage_unavailable', { cause });
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
    await this.#remove();
  }
}

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
