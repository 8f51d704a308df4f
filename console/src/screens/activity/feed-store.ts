import type { Occurrence, ToldHook } from '../../../../packages/sdk/src/activity.ts';
import { kinds } from '../../../../packages/sdk/src/api-types.ts';
import type { Notification } from '../../../../packages/sdk/src/notifications.ts';
import { momentOf } from '../../components/timestamp.tsx';
import { readingOf } from '../../delivery/read-receipt.tsx';

/** Who has not come for a record by then is not waited for any more. */
const SOON_READING_MS = 30_000;
const MAX_READING_MS = 3_600_000;

/** What is told at all is told by then. */
const MAX_SETTLING_MS = 20_000;

/** Something that happened; what came of it is undefined until it has been asked for. */
export type Entry = Notification & { readonly deliveries?: readonly ToldHook[] };

const isHookKind = (kind: string) => kinds.some((one) => one === kind);

/** An entry of the feed: of what no hook can name, it is known that nobody is told. */
export function entryOf(one: Notification): Entry {
  return isHookKind(one.kind) ? one : { ...one, deliveries: [] };
}

/** Whether what came of an entry is to be asked for: at once, a little later, or never again. */
export function urgencyOf({ deliveries }: Entry, now: number): 'soon' | 'later' | 'never' {
  if (deliveries === undefined) return 'soon';
  const age = (moment: string) => now - (momentOf(moment)?.getTime() ?? 0);
  // What has been pending for longer waits for a hook that fails.
  if (deliveries.some(({ state, created_at }) => state === 'pending' && age(created_at) < MAX_SETTLING_MS))
    return 'soon';
  const isUnread = (told: ToldHook, forMs: number) =>
    readingOf(told) === 'never read' && age(told.date_finalized) < forMs;
  // Who reads what they are told, reads it soon.
  if (deliveries.some((told) => isUnread(told, SOON_READING_MS))) return 'soon';
  return deliveries.some((told) => told.state === 'pending' || isUnread(told, MAX_READING_MS)) ? 'later' : 'never';
}

/** The same entries with what is newly known of them; those of which nothing is stay the very same. */
export function merged(entries: readonly Entry[], found: readonly Occurrence[]): readonly Entry[] {
  const byCursor = new Map(found.map((one) => [one.cursor, one]));
  let isOther = false;
  const next = entries.map((entry) => {
    const one = byCursor.get(entry.cursor);
    if (one === undefined || JSON.stringify(one.deliveries) === JSON.stringify(entry.deliveries)) return entry;
    isOther = true;
    return one;
  });
  return isOther ? next : entries;
}

/** The cursor behind an entry, for asking for the entry itself and those before it. */
export function behind(cursor: string): string {
  return String(Number(cursor) + 1);
}
