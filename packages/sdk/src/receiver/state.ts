/**
 * Where a receiver keeps its cursor: how far the feed is handled. It is the one thing that has to outlive a restart. Keep
 * it where the work of the handlers is kept; {@link fileState} keeps it in a file.
 */
export type State = {
  /** The cursor that was saved last; undefined or null when there is none. Asked before each round. */
  load(): Promise<string | undefined | null>;
  /** Resolves when the cursor is durable. Called after each occurrence that a handler was called with. */
  save(cursor: string): Promise<void>;
  /**
   * For several processes with one cursor: does the work while nobody else does theirs, under a lock of the database for
   * example. Without it, two rounds at once call handlers twice.
   */
  alone?(work: () => Promise<void>): Promise<void>;
};

/** Forgets with the process: the next one asks the service what it was not answered 200 for, and begins there. */
export function memoryState(): State {
  let kept: string | undefined;
  return {
    load: async () => kept,
    save: async (cursor) => {
      kept = cursor;
    },
  };
}

/** The part of `node:fs/promises` that is used; Deno and Bun have it, too. */
export type Files = {
  readFile(path: string, encoding: 'utf8'): Promise<string>;
  open(
    path: string,
    flags: 'w',
  ): Promise<{ writeFile(text: string): Promise<void>; sync(): Promise<void>; close(): Promise<void> }>;
  rename(from: string, to: string): Promise<void>;
};

/**
 * Keeps the cursor in a file, for one process: written beside it, synced, and put in its place in one step.
 *
 * ```ts
 * import * as files from 'node:fs/promises';
 * const receiver = createReceiver({ …, state: fileState(files, 'receiver.cursor') });
 * ```
 */
export function fileState(files: Files, path: string): State {
  return {
    async load() {
      const text = await files.readFile(path, 'utf8').catch((error: unknown) => {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
        throw error;
      });
      if (text === undefined) return undefined;
      // To begin anywhere else would be to miss something.
      if (!/^\d+\n?$/.test(text)) throw new Error(`${path} holds no cursor.`);
      return text.trim();
    },
    async save(cursor) {
      const file = await files.open(`${path}.new`, 'w');
      try {
        await file.writeFile(`${cursor}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await files.rename(`${path}.new`, path);
    },
  };
}
