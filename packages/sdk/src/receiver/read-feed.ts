import type { Carillon } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import type { FeedEntry } from '../notifications.ts';
import { parseNotifiedUrl } from '../parse-notification.ts';
import { findInitialCursor, readFeedPages } from './feed-pages.ts';
import { findHooks, type ReceiverHookSettings, reconcileHooks } from './manage-hooks.ts';
import {
  ANY_KIND,
  callOccurrenceHandler,
  createOccurrenceContext,
  type HandlersByKind,
} from './occurrence-handlers.ts';
import type { ReceiverState } from './state.ts';

/** Settings and dependencies of a feed sync. */
export type FeedSyncDeps = {
  readonly carillon: Carillon;
  /** URL of the API, with which every `resource_url` of the service begins. */
  readonly apiRoot: string;
  readonly handlers: HandlersByKind;
  readonly hookSettings: ReceiverHookSettings;
  readonly state: ReceiverState;
  readonly signal: AbortSignal;
  /**
   * Called and awaited if entries after the cursor are no longer stored. The sync then continues with the oldest stored
   * entry.
   */
  readonly onGap: (error: CarillonError) => unknown;
  /** Called with each entry that was handled, after its cursor is saved. */
  readonly onHandled: (entry: FeedEntry) => void;
};

/** Runs one feed sync: handles all entries after the cursor in order, and saves the cursor after each entry. */
export async function syncFeed(deps: FeedSyncDeps): Promise<void> {
  const { state, onGap } = deps;
  const startCursor = (await state.load()) ?? (await findAndSaveInitialCursor(deps));
  try {
    await handleEntriesAfter(deps, startCursor);
  } catch (error) {
    if (!(error instanceof CarillonError && error.code === 'cursor_gone')) throw error;
    await onGap(error);
    await handleEntriesAfter(deps, undefined);
  }
}

/**
 * Finds and saves the initial cursor. Creates the hooks first, so that the service stores pending deliveries from then
 * on.
 */
async function findAndSaveInitialCursor({ carillon, hookSettings, state, signal }: FeedSyncDeps): Promise<string> {
  await reconcileHooks(hookSettings, true);
  const initialCursor = await findInitialCursor({
    carillon,
    hooks: await findHooks(hookSettings),
    subscription: hookSettings.subscription,
    signal,
  });
  await state.save(initialCursor);
  return initialCursor;
}

async function handleEntriesAfter(deps: FeedSyncDeps, afterCursor: string | undefined): Promise<void> {
  const { carillon, hookSettings, state, signal, onHandled } = deps;
  let lastSavedCursor = afterCursor;
  const saveCursor = async (cursor: string) => {
    if (cursor !== lastSavedCursor) await state.save(cursor);
    lastSavedCursor = cursor;
  };
  for await (const { data, next } of readFeedPages(
    { feed: carillon.notifications, afterCursor, subscription: hookSettings.subscription },
    { signal },
  )) {
    for (const entry of data) {
      signal.throwIfAborted();
      if (!(await handleEntry(deps, entry))) continue;
      await saveCursor(entry.cursor);
      onHandled(entry);
    }
    await saveCursor(next);
  }
}

/** Handles an entry of the feed. Returns whether there is a handler for its kind, and its type of record is known. */
async function handleEntry(
  { carillon, apiRoot, handlers, hookSettings, signal }: FeedSyncDeps,
  entry: FeedEntry,
): Promise<boolean> {
  const { kinds } = hookSettings.subscription;
  const handledKind = kinds.find((kind) => kind === entry.kind) ?? kinds.find((kind) => kind === ANY_KIND);
  if (handledKind === undefined) return false;
  // Parsing throws for a URL of another service, so that the key is sent only to this service.
  if (parseNotifiedUrl(apiRoot, entry.resource_url) === undefined) return false;
  await callOccurrenceHandler(handlers, handledKind, createOccurrenceContext(entry, carillon, signal));
  return true;
}
