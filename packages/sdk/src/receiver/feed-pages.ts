import type { Kind } from '../api-types.ts';
import type { Notifications, Stretch } from '../notifications.ts';
import type { CallOptions } from '../transport.ts';

/** Entries in one answer: as many as there can be. */
export const ENTRIES = 1_000;

/** The service leaves off after so many occurrences, however few of them it shows. */
export const LOOKED_AT = 10_000;

/** What of the feed is read. */
export type Wanted = {
  readonly feed: Notifications;
  /** Undefined: from the oldest that is kept. */
  readonly after: string | undefined;
  readonly kinds: readonly Kind[];
};

/** The feed behind a cursor, stretch by stretch, up to the end that it had when the last one was asked for. */
export async function* stretches(
  { feed, after, kinds }: Wanted,
  options: CallOptions,
): AsyncGenerator<Stretch, void, undefined> {
  const kind = kinds.length === 1 ? kinds[0] : undefined;
  for (let reached = after; ; ) {
    const stretch = await feed.list({ after: reached, kind, limit: ENTRIES }, options);
    yield stretch;
    if (isLast(reached, stretch)) return;
    reached = stretch.next;
  }
}

/** In a busy account something new is always there: one answer that is not full has to be enough to know the end. */
function isLast(after: string | undefined, { data, next }: Stretch): boolean {
  if (next === after) return true;
  return after !== undefined && data.length < ENTRIES && Number(next) - Number(after) < LOOKED_AT;
}
