import type { Delivery, Occurrence, ToldHook } from '../../../../packages/sdk/src/activity.ts';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';

/** The occurrence of a delivery, and its read receipt. */
export type Told = { readonly occurrence: Occurrence; readonly told: ToldHook };

/** Activity of a hook loaded so far, by delivery id; `before` is the cursor of the next older page. */
export type Past = { readonly told: Map<string, Told>; before: string | undefined };

const MAX_REQUESTS = 5;

/**
 * Loads the activity of a hook back to the given deliveries, with at most `MAX_CALLS` requests; older
 * deliveries remain without occurrence. The newest page is always reloaded, because its read receipts change.
 */
export async function readPast(
  past: Past,
  hook: Hook,
  deliveries: readonly Delivery[],
  signal: AbortSignal,
): Promise<void> {
  const read = async (before?: string) => {
    const { data, next } = await client.activity.list({ hook_id: hook.id, limit: 100, before }, { signal });
    for (const occurrence of data)
      for (const told of occurrence.deliveries) past.told.set(told.id, { occurrence, told });
    return next;
  };
  const isMissing = () => deliveries.some(({ id, event }) => event !== 'test' && !past.told.has(id));
  if (deliveries.length === 0) return;
  const next = await read();
  past.before ??= next;
  for (let requests = 1; requests < MAX_REQUESTS && past.before !== '' && isMissing(); requests += 1) {
    past.before = await read(past.before);
  }
}
