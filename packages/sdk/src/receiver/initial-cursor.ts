import type { Kind } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import type { Hook } from '../hooks.ts';
import { stretches } from './feed-pages.ts';

/** Input for finding the initial cursor. `hooks` are those that notify this receiver. */
export type Beginning = {
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
export async function beginning({ carillon, hooks, kinds, signal }: Beginning): Promise<string> {
  const whole = { feed: carillon.notifications, after: undefined, kinds };
  let end = '0';
  for await (const { next } of stretches(whole, { signal })) end = next;
  const pending = new Set<string>();
  for (const { id, state } of hooks) {
    if (state === 'ended') continue;
    const filters = { hook_id: id, state: 'pending' } as const;
    for await (const { event, resource_url } of carillon.deliveries.each(filters, { signal })) {
      pending.add(`${event} ${resource_url}`);
    }
  }
  if (pending.size === 0) return end;
  for await (const { data } of stretches(whole, { signal })) {
    const first = data.find(({ kind, resource_url }) => pending.has(`${kind} ${resource_url}`));
    // Cursors are consecutive integers.
    if (first !== undefined) return String(Math.min(Number(first.cursor) - 1, Number(end)));
  }
  return end;
}
