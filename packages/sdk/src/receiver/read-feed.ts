import type { Carillon } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import type { FeedEntry } from '../notifications.ts';
import { parseRecordUrl } from '../parse-notification.ts';
import { feedPages, findInitialCursor } from './feed-pages.ts';
import { createContext, type HandlersByKind, handleOccurrence } from './handle-notification.ts';
import { findHooks, type ReceiverHooks, reconcileHooks } from './manage-hooks.ts';
import type { ReceiverState } from './state.ts';

/** Settings and dependencies of a feed sync. */
export type FeedSyncPorts = {
  readonly carillon: Carillon;
  /** URL of the API, with which every `resource_url` of the service begins. */
  readonly root: string;
  readonly on: HandlersByKind;
  readonly receiverHooks: ReceiverHooks;
  readonly state: ReceiverState;
  readonly signal: AbortSignal;
  /**
   * Called if entries after the cursor are no longer stored. Reading from the oldest stored entry continues after it
   * resolves.
   */
  readonly onGap: (error: CarillonError) => unknown;
};

/** Runs one feed sync: handles all entries after the cursor in order, and saves the cursor after each entry. */
export async function syncFeed(ports: FeedSyncPorts): Promise<void> {
  const { state, onGap } = ports;
  const after = (await state.load()) ?? (await findAndSaveInitialCursor(ports));
  try {
    await handleEntriesAfter(ports, after);
  } catch (error) {
    if (!(error instanceof CarillonError && error.code === 'cursor_gone')) throw error;
    await onGap(error);
    await handleEntriesAfter(ports, undefined);
  }
}

/**
 * Finds and saves the initial cursor. Creates the hooks first, so that the service stores pending deliveries from then
 * on.
 */
async function findAndSaveInitialCursor({ carillon, receiverHooks, state, signal }: FeedSyncPorts): Promise<string> {
  await reconcileHooks(receiverHooks, true);
  const first = await findInitialCursor({
    carillon,
    hooks: await findHooks(receiverHooks),
    kinds: receiverHooks.kinds,
    signal,
  });
  await state.save(first);
  return first;
}

async function handleEntriesAfter(ports: FeedSyncPorts, after: string | undefined): Promise<void> {
  const { carillon, receiverHooks, state, signal } = ports;
  let saved = after;
  const saveCursor = async (cursor: string) => {
    if (cursor !== saved) await state.save(cursor);
    saved = cursor;
  };
  for await (const { data, next } of feedPages(
    { feed: carillon.notifications, after, kinds: receiverHooks.kinds },
    { signal },
  )) {
    for (const entry of data) {
      signal.throwIfAborted();
      if (await handleEntry(ports, entry)) await saveCursor(entry.cursor);
    }
    await saveCursor(next);
  }
}

/** Handles an entry of the feed. Returns whether there is a handler for its kind. */
async function handleEntry(
  { carillon, root, on, receiverHooks, signal }: FeedSyncPorts,
  entry: FeedEntry,
): Promise<boolean> {
  const kind = receiverHooks.kinds.find((one) => one === entry.kind);
  if (kind === undefined) return false;
  // Parsing throws for a URL of another service, so that the key is sent only to this service.
  const { id } = parseRecordUrl(root, entry.resource_url);
  await handleOccurrence(on, kind, id, createContext(entry, kind, carillon, signal));
  return true;
}
