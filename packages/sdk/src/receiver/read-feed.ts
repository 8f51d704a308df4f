import type { Carillon } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import type { Notification } from '../notifications.ts';
import { parseRecordUrl } from '../parse-notification.ts';
import { feedPages, initialCursor } from './feed-pages.ts';
import { contextOf, type Handlers, handle } from './handle-notification.ts';
import { findHooks, type ManagedHooks, reconcileHooks } from './manage-hooks.ts';
import type { State } from './state.ts';

/** Settings and dependencies of a feed sync. */
export type FeedSyncPorts = {
  readonly carillon: Carillon;
  /** URL of the API, with which every `resource_url` of the service begins. */
  readonly root: string;
  readonly on: Handlers;
  readonly own: ManagedHooks;
  readonly state: State;
  readonly signal: AbortSignal;
  /**
   * Called if entries after the cursor are no longer stored. Reading from the oldest stored entry continues after it
   * resolves.
   */
  readonly onGap: (error: CarillonError) => unknown;
};

/** Runs one feed sync: handles all entries after the cursor in order, and saves the cursor after each entry. */
export async function syncFeed(reading: FeedSyncPorts): Promise<void> {
  const { state, onGap } = reading;
  const after = (await state.load()) ?? (await begin(reading));
  try {
    await readFrom(reading, after);
  } catch (error) {
    if (!(error instanceof CarillonError && error.code === 'cursor_gone')) throw error;
    await onGap(error);
    await readFrom(reading, undefined);
  }
}

/**
 * Finds and saves the initial cursor. Creates the hooks first, so that the service stores pending deliveries from then
 * on.
 */
async function begin({ carillon, own, state, signal }: FeedSyncPorts): Promise<string> {
  await reconcileHooks(own, true);
  const first = await initialCursor({ carillon, hooks: await findHooks(own), kinds: own.kinds, signal });
  await state.save(first);
  return first;
}

async function readFrom(reading: FeedSyncPorts, after: string | undefined): Promise<void> {
  const { carillon, own, state, signal } = reading;
  let saved = after;
  const saveCursor = async (cursor: string) => {
    if (cursor !== saved) await state.save(cursor);
    saved = cursor;
  };
  for await (const { data, next } of feedPages({ feed: carillon.notifications, after, kinds: own.kinds }, { signal })) {
    for (const entry of data) {
      signal.throwIfAborted();
      if (await isHandled(reading, entry)) await saveCursor(entry.cursor);
    }
    await saveCursor(next);
  }
}

/** Handles an entry of the feed. Returns whether there is a handler for its kind. */
async function isHandled({ carillon, root, on, own, signal }: FeedSyncPorts, entry: Notification): Promise<boolean> {
  const kind = own.kinds.find((one) => one === entry.kind);
  if (kind === undefined) return false;
  // Parsing throws for a URL of another service, so that the key is sent only to this service.
  const { id } = parseRecordUrl(root, entry.resource_url);
  await handle(on, kind, id, contextOf(entry, kind, carillon, signal));
  return true;
}
