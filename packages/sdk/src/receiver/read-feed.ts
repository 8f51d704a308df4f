import type { Carillon } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import type { Notification } from '../notifications.ts';
import { recordAt } from '../parse-notification.ts';
import { stretches } from './feed-pages.ts';
import { contextOf, type Handlers, handle } from './handlers.ts';
import { beginning } from './initial-cursor.ts';
import { findHooks, type OwnHooks, tendHooks } from './manage-hooks.ts';
import type { State } from './state.ts';

/** What a round needs. */
export type Reading = {
  readonly carillon: Carillon;
  /** Beginning of every address of the service. */
  readonly root: string;
  readonly on: Handlers;
  readonly own: OwnHooks;
  readonly state: State;
  readonly signal: AbortSignal;
  /** What came behind the cursor is not kept any more; awaited before it goes on with the oldest that is. */
  readonly onGap: (error: CarillonError) => unknown;
};

/** One round: everything behind the cursor, in order, each to its handler and then below the cursor. */
export async function readRound(reading: Reading): Promise<void> {
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

/** The hooks come first: what happens once they are there is pending until it is answered. */
async function begin({ carillon, own, state, signal }: Reading): Promise<string> {
  await tendHooks(own, true);
  const first = await beginning({ carillon, hooks: await findHooks(own), kinds: own.kinds, signal });
  await state.save(first);
  return first;
}

async function readFrom(reading: Reading, after: string | undefined): Promise<void> {
  const { carillon, own, state, signal } = reading;
  let saved = after;
  const keep = async (cursor: string) => {
    if (cursor !== saved) await state.save(cursor);
    saved = cursor;
  };
  for await (const { data, next } of stretches({ feed: carillon.notifications, after, kinds: own.kinds }, { signal })) {
    for (const entry of data) {
      signal.throwIfAborted();
      if (await isHandled(reading, entry)) await keep(entry.cursor);
    }
    await keep(next);
  }
}

/** Answers whether there is a handler for it. */
async function isHandled({ carillon, root, on, own, signal }: Reading, entry: Notification): Promise<boolean> {
  const kind = own.kinds.find((one) => one === entry.kind);
  if (kind === undefined) return false;
  // The key goes to this service alone, whatever it says.
  const { id } = recordAt(root, entry.resource_url);
  await handle(on, kind, id, contextOf(entry, kind, carillon, signal));
  return true;
}
