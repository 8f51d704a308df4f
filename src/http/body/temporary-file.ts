import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../../problems.ts';

/** A temporary file with a text that a child process reads. */
export class TemporaryTextFile {
  readonly #handle: FileHandle;
  readonly #removeFolder: () => Promise<void>;

  private constructor(handle: FileHandle, removeFolder: () => Promise<void>) {
    this.#handle = handle;
    this.#removeFolder = removeFolder;
  }

  /** Creates an empty file. Rejects with the problem `storage_unavailable` if that fails. */
  static async create(): Promise<TemporaryTextFile> {
    try {
      const folder = await mkdtemp(join(tmpdir(), 'carillon-text-'));
      const handle = await open(join(folder, 'text'), 'wx+', 0o600);
      const removeFolder = () => rm(folder, { recursive: true, force: true });
      // Unlink the open file where the system allows it, so that nothing is left behind even after a crash.
      const isUnlinked = await removeFolder().then(
        () => true,
        () => false,
      );
      return new TemporaryTextFile(handle, isUnlinked ? async () => undefined : removeFolder);
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
    await this.#removeFolder();
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
  append(chunk: Uint8Array): void {
    const requiredLength = this.#length + chunk.length;
    if (requiredLength > this.#buffer.length) {
      const largerBuffer = Buffer.allocUnsafeSlow(Math.max(requiredLength, 2 * this.#buffer.length));
      this.#buffer.copy(largerBuffer, 0, 0, this.#length);
      this.#buffer = largerBuffer;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = requiredLength;
  }

  /** A view of all bytes so far; valid until the next `append`. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }
}
