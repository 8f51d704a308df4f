import type { HookKind } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import type { Hook } from '../hooks.ts';

/** Settings for the hooks of a receiver: one hook for each event kind, whose target URL has the kind in its query. */
export type ReceiverHookSettings = {
  readonly carillon: Carillon;
  /** URL of the receiver; undefined if the application creates the hooks itself. */
  readonly at: string | undefined;
  readonly kinds: readonly HookKind[];
  readonly signal: AbortSignal;
};

/** The receiver restores a hook that ended for one of these reasons. It does not restore a deleted hook. */
const RESTORED_REASONS: readonly string[] = ['answered_401', 'three_failures'];

/** Returns the target URL for an event kind. Each kind needs its own target, since hooks cannot share one (C12). */
export function targetUrlOf(at: string, kind: HookKind): string {
  const url = new URL(at);
  // Append text: `searchParams` would encode the existing query again, and change a query that is not form-encoded.
  url.search += `${url.search === '' ? '' : '&'}kind=${kind}`;
  return url.href;
}

/** Finds the caller's hooks that notify this receiver. Without a receiver URL, finds all hooks of its kinds. */
export async function findHooks({ carillon, at, kinds, signal }: ReceiverHookSettings): Promise<Hook[]> {
  const foundHooks: Hook[] = [];
  for await (const hook of carillon.hooks.each({}, { signal })) {
    const kind = kinds.find((one) => one === hook.event);
    if (kind === undefined) continue;
    if (at === undefined || new URL(hook.target_url).href === targetUrlOf(at, kind)) foundHooks.push(hook);
  }
  return foundHooks;
}

/**
 * Repairs the hooks of a receiver (X1). A failing hook is tested, which makes its pending deliveries due immediately. A
 * hook that ended after failures or a 401 is restored.
 *
 * @param createsMissing whether to create missing hooks
 */
export async function reconcileHooks(receiverHooks: ReceiverHookSettings, createsMissing: boolean): Promise<void> {
  if (receiverHooks.at === undefined) return;
  const hooks = await findHooks(receiverHooks);
  const errors: unknown[] = [];
  for (const kind of receiverHooks.kinds) {
    const hooksOfKind = hooks.filter(({ event }) => event === kind);
    try {
      await reconcileKind(receiverHooks, kind, hooksOfKind, createsMissing);
    } catch (error) {
      // Ignore the error if the hook is live now: another process of the application may have repaired it concurrently.
      const isRace = error instanceof CarillonError && ['target_taken', 'not_found', 'hook_ended'].includes(error.code);
      const currentHooks = isRace ? await findHooks(receiverHooks) : [];
      if (!currentHooks.some(({ event, state }) => event === kind && state !== 'ended')) errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

async function reconcileKind(
  { carillon, at = '', signal }: ReceiverHookSettings,
  kind: HookKind,
  hooks: readonly Hook[],
  createsMissing: boolean,
) {
  const liveHook = hooks.find(({ state }) => state !== 'ended');
  if (liveHook?.state === 'failing') await carillon.hooks.test(liveHook.id, { signal });
  if (liveHook !== undefined) return;
  const lastEndedHook = hooks.toSorted((one, other) => (one.date_ended < other.date_ended ? -1 : 1)).at(-1);
  if (lastEndedHook !== undefined && RESTORED_REASONS.includes(lastEndedHook.ended_reason))
    await carillon.hooks.restore(lastEndedHook.id, { signal });
  else if (createsMissing) await carillon.hooks.create({ target_url: targetUrlOf(at, kind), event: kind }, { signal });
}
