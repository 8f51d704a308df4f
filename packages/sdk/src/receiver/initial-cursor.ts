import type { Kind } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import type { Hook } from '../hooks.ts';
import { stretches } from './feed-pages.ts';

/** What is looked at to find where to begin: `hooks` are those whose notifications come to this receiver. */
export type Beginning = {
  readonly carillon: Carillon;
  readonly hooks: readonly Hook[];
  readonly kinds: readonly Kind[];
  readonly signal: AbortSignal;
};

/**
 * Where a receiver begins that has no cursor: before the oldest that the service has not been answered 200 for, so that
 * what a lost cursor knew is known to the service; where nothing is pending, behind everything.
 *
 * Nothing may be answered 200 before this is known. The end is found first: what is pending only after that lies behind it.
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
    // Cursors are the places of an account: whole numbers, without a gap.
    if (first !== undefined) return String(Math.min(Number(first.cursor) - 1, Number(end)));
  }
  return end;
}
