import type { HookKind } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import type { Hook } from '../hooks.ts';

/** Settings for the hooks of a receiver: one hook for each event kind, whose target URL has the kind in its query. */
export type ReceiverHookSettings = {
  readonly carillon: Carillon;
  /** URL of the receiver; undefined if the application creates the hooks itself. */
  readonly receiverUrl: string | undefined;
  readonly kinds: readonly HookKind[];
  readonly signal: AbortSignal;
};

/** The receiver restores a hook that ended for one of these reasons. It does not restore a deleted hook. */
const RESTORABLE_ENDED_REASONS: readonly string[] = ['answered_401', 'three_failures'];

/** Returns the target URL for an event kind. Each kind needs its own target, since hooks cannot share one (C12). */
export function targetUrlOf(receiverUrl: string, kind: HookKind): string {
  const url = new URL(receiverUrl);
  // Append text: `searchParams` would encode the existing query again, and change a query that is not form-encoded.
  url.search += `${url.search === '' ? '' : '&'}kind=${kind}`;
  return url.href;
}

/** Finds the caller's hooks that notify this receiver. Without a receiver URL, finds all hooks of its kinds. */
export async function findHooks({ carillon, receiverUrl, kinds, signal }: ReceiverHookSettings): Promise<Hook[]> {
  const foundHooks: Hook[] = [];
  for await (const hook of carillon.hooks.each({}, { signal })) {
    const kind = kinds.find((one) => one === hook.event);
    if (kind === undefined) continue;
    if (receiverUrl === undefined || new URL(hook.target_url).href === targetUrlOf(receiverUrl, kind))
      foundHooks.push(hook);
  }
  return foundHooks;
}

/**
 * Repairs the hooks of a receiver (X1). A failing hook is tested, which makes its pending deliveries due immediately. A
 * hook that ended after failures or a 401 is restored.
 *
 * @param createsMissingHooks whether to create missing hooks
 */
export async function reconcileHooks(hookSettings: ReceiverHookSettings, createsMissingHooks: boolean): Promise<void> {
  if (hookSettings.receiverUrl === undefined) return;
  const hooks = await findHooks(hookSettings);
  const errors: unknown[] = [];
  for (const kind of hookSettings.kinds) {
    const hooksOfKind = hooks.filter(({ event }) => event === kind);
    try {
      await reconcileKind(hookSettings, kind, hooksOfKind, createsMissingHooks);
    } catch (error) {
      // Ignore the error if the hook is live now: another process of the application may have repaired it concurrently.
      const isConcurrentChange =
        error instanceof CarillonError && ['target_taken', 'not_found', 'hook_ended'].includes(error.code);
      const currentHooks = isConcurrentChange ? await findHooks(hookSettings) : [];
      if (!currentHooks.some(({ event, state }) => event === kind && state !== 'ended')) errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

async function reconcileKind(
  { carillon, receiverUrl = '', signal }: ReceiverHookSettings,
  kind: HookKind,
  hooks: readonly Hook[],
  createsMissingHooks: boolean,
) {
  const liveHook = hooks.find(({ state }) => state !== 'ended');
  if (liveHook?.state === 'failing') await carillon.hooks.test(liveHook.id, { signal });
  if (liveHook !== undefined) return;
  const lastEndedHook = hooks.toSorted((one, other) => (one.date_ended < other.date_ended ? -1 : 1)).at(-1);
  if (lastEndedHook !== undefined && RESTORABLE_ENDED_REASONS.includes(lastEndedHook.ended_reason))
    await carillon.hooks.restore(lastEndedHook.id, { signal });
  else if (createsMissingHooks)
    await carillon.hooks.create({ target_url: targetUrlOf(receiverUrl, kind), event: kind }, { signal });
}
