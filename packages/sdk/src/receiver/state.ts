import type { Kind } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import type { Hook } from '../hooks.ts';
import { feedPages } from './read-feed.ts';

/**
 * Storage of a receiver's cursor, the position up to which the feed is handled. It has to survive a restart. Store it
 * together with the results of the handlers; {@link fileState} stores it in a file.
 */
export type State = {
  /** The last saved cursor; undefined or null if there is none. Called before each feed sync. */
  load(): Promise<string | undefined | null>;
  /** Resolves when the cursor is durable. Called after each handled occurrence. */
  save(cursor: string): Promise<void>;
  /**
   * For several processes with one cursor: runs the work exclusively, for example under an advisory lock. Without it,
   * concurrent feed syncs call handlers twice.
   */
  alone?(work: () => Promise<void>): Promise<void>;
};

/**
 * Keeps the cursor in memory. After a restart, the receiver begins with the oldest pending delivery of the service.
 *
 * @example
 * ```ts
 * const receiver = createReceiver({ baseUrl: 'https://calendar.example', domain, key, on: {}, state: memoryState() });
 * ```
 */
export function memoryState(): State {
  let saved: string | undefined;
  return {
    load: async () => saved,
    save: async (cursor) => {
      saved = cursor;
    },
  };
}

/** The subset of `node:fs/promises` that is used; Deno and Bun have it, too. */
export type Files = {
  readFile(path: string, encoding: 'utf8'): Promise<string>;
  open(
    path: string,
    flags: 'w',
  ): Promise<{ writeFile(text: string): Promise<void>; sync(): Promise<void>; close(): Promise<void> }>;
  rename(from: string, to: string): Promise<void>;
};

/**
 * Stores the cursor in a file, for one process: writes a temporary file, syncs it, and renames it.
 *
 * @example
 * ```ts
 * import * as files from 'node:fs/promises';
 *
 * const state = fileState(files, 'receiver.cursor');
 * const receiver = createReceiver({ baseUrl: 'https://calendar.example', domain, key, on: {}, state });
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
      // Starting anywhere else could miss entries.
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

/** Input for finding the initial cursor. `hooks` are those that notify this receiver. */
export type CursorOptions = {
  readonly carillon: Carillon;
  readonly hooks: readonly Hook[];
  readonly kinds: readonly Kind[];
  readonly signal: AbortSignal;
};

/**
 * The initial cursor of a receiver without a stored one: before the oldest pending delivery, because the
 * service knows what was not acknowledged; without pending deliveries, the end of the feed.
 *
 * No notification may be acknowledged with 200 before this is known. The end of the feed is read first, so that
 * deliveries that become pending later are after it.
 */
export async function initialCursor({ carillon, hooks, kinds, signal }: CursorOptions): Promise<string> {
  const whole = { feed: carillon.notifications, after: undefined, kinds };
  let end = '0';
  for await (const { next } of feedPages(whole, { signal })) end = next;
  const pending = new Set<string>();
  for (const { id, state } of hooks) {
    if (state === 'ended') continue;
    const filters = { hook_id: id, state: 'pending' } as const;
    for await (const { event, resource_url } of carillon.deliveries.each(filters, { signal })) {
      pending.add(`${event} ${resource_url}`);
    }
  }
  if (pending.size === 0) return end;
  for await (const { data } of feedPages(whole, { signal })) {
    const first = data.find(({ kind, resource_url }) => pending.has(`${kind} ${resource_url}`));
    // Cursors are consecutive integers.
    if (first !== undefined) return String(Math.min(Number(first.cursor) - 1, Number(end)));
  }
  return end;
}
