import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../../problems.ts';

/** A text in a temporary file, for another process to read: it takes no memory of this one. */
export class TextFile {
  readonly #handle: FileHandle;
  readonly #remove: () => Promise<void>;

  private constructor(handle: FileHandle, remove: () => Promise<void>) {
    this.#handle = handle;
    this.#remove = remove;
  }

  /** Rejects with the problem `storage_unavailable` where there is no room, or no folder, for one. */
  static async create(): Promise<TextFile> {
    try {
      const folder = await mkdtemp(join(tmpdir(), 'carillon-text-'));
      const handle = await open(join(folder, 'text'), 'wx+', 0o600);
      const remove = () => rm(folder, { recursive: true, force: true });
      // An open file needs no name where the system allows that: nothing stays behind, however this process ends.
      const isRemoved = await remove().then(
        () => true,
        () => false,
      );
      return new TextFile(handle, isRemoved ? async () => undefined : remove);
    } catch (cause) {
      throw new Problem('storage_unavailable', { cause });
    }
  }

  /** To be handed to a process that is started, as long as the file is not closed. */
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
