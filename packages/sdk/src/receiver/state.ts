/**
 * Storage of a receiver's cursor, which is the position up to which the feed is handled. The cursor has to survive a
 * restart. Store it together with the results of the handlers. {@link fileState} stores it in a file.
 */
export type ReceiverState = {
  /** Returns the last saved cursor; undefined or null if there is none. Called before each feed sync. */
  load(): Promise<string | undefined | null>;
  /** Saves the cursor, and resolves when it is durable. Called after each handled occurrence. */
  save(cursor: string): Promise<void>;
  /**
   * Needed if several processes share one cursor: runs the work exclusively, for example under an advisory lock.
   * Without it, concurrent feed syncs call handlers twice.
   */
  withLock?(work: () => Promise<void>): Promise<void>;
};

/**
 * Creates a state that keeps the cursor in memory. After a restart, the receiver begins with the oldest pending
 * delivery of the service.
 *
 * @example
 * ```ts
 * const receiver = createReceiver({ baseUrl: 'https://calendar.example', domain, key, on: {}, state: memoryState() });
 * ```
 */
export function memoryState(): ReceiverState {
  let savedCursor: string | undefined;
  return {
    load: async () => savedCursor,
    save: async (cursor) => {
      savedCursor = cursor;
    },
  };
}

/** The subset of `node:fs/promises` that is used. Deno and Bun have it as well. */
export type FileSystem = {
  readFile(path: string, encoding: 'utf8'): Promise<string>;
  open(
    path: string,
    flags: 'w',
  ): Promise<{ writeFile(text: string): Promise<void>; sync(): Promise<void>; close(): Promise<void> }>;
  rename(from: string, to: string): Promise<void>;
};

/**
 * Creates a state that stores the cursor in a file, for one process. It writes a temporary file, syncs it, and renames
 * it.
 *
 * @example
 * ```ts
 * import * as files from 'node:fs/promises';
 *
 * const state = fileState(files, 'receiver.cursor');
 * const receiver = createReceiver({ baseUrl: 'https://calendar.example', domain, key, on: {}, state });
 * ```
 */
export function fileState(files: FileSystem, path: string): ReceiverState {
  return {
    async load() {
      const text = await files.readFile(path, 'utf8').catch((error: unknown) => {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
        throw error;
      });
      if (text === undefined) return undefined;
      // Reject an invalid cursor: starting at another position could miss entries.
      if (!/^\d+\n?$/.test(text)) throw new Error(`${path} contains no cursor.`);
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
