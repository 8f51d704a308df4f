import type { Occurrence, ToldHook } from '../../../../packages/sdk/src/activity.ts';
import type { Delivery } from '../../../../packages/sdk/src/deliveries.ts';
import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';

/** What a delivery was of, and whether its record was fetched since. */
export type Told = { readonly occurrence: Occurrence; readonly told: ToldHook };

/** What is known of a hook's past: by delivery, and how far back it has been read. */
export type Past = { readonly told: Map<string, Told>; before: string | undefined };

const MAX_CALLS = 5;

/**
 * Reads the activity of a hook as far back as some deliveries reach; the newest stretch always, since it changes. A few
 * calls at the most: what lies behind them stays unknown.
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
  for (let calls = 1; calls < MAX_CALLS && past.before !== '' && isMissing(); calls += 1) {
    past.before = await read(past.before);
  }
}
