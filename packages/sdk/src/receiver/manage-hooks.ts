import type { HookKind } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import type { Hook } from '../hooks.ts';

/** The hooks of a receiver: one hook for each kind. The query of the target distinguishes them. */
export type ReceiverHooks = {
  readonly carillon: Carillon;
  /** URL of the receiver; undefined if the application creates the hooks itself. */
  readonly at: string | undefined;
  readonly kinds: readonly HookKind[];
  readonly signal: AbortSignal;
};

/** Reasons for the end of a hook after which the receiver restores it. A deleted hook is not restored. */
const RESTORED_REASONS: readonly string[] = ['answered_401', 'three_failures'];

/** Returns the target URL for a kind. A target belongs to one hook (C12), so each kind has its own target. */
export function targetOf(at: string, kind: HookKind): string {
  const url = new URL(at);
  // Append to the query without encoding it again, because it may not be form-encoded.
  url.search += `${url.search === '' ? '' : '&'}kind=${kind}`;
  return url.href;
}

/** Finds the caller's hooks that notify this receiver. Without `at`, finds all hooks of its kinds. */
export async function findHooks({ carillon, at, kinds, signal }: ReceiverHooks): Promise<Hook[]> {
  const found: Hook[] = [];
  for await (const hook of carillon.hooks.each({}, { signal })) {
    const kind = kinds.find((one) => one === hook.event);
    if (kind === undefined) continue;
    if (at === undefined || new URL(hook.target_url).href === targetOf(at, kind)) found.push(hook);
  }
  return found;
}

/**
 * Repairs the hooks of a receiver (X1). A failing hook is tested, which makes its pending deliveries due immediately. A
 * hook that ended after failures is restored.
 *
 * @param createsMissing whether to create missing hooks
 */
export async function reconcileHooks(receiverHooks: ReceiverHooks, createsMissing: boolean): Promise<void> {
  if (receiverHooks.at === undefined) return;
  const hooks = await findHooks(receiverHooks);
  const failures: unknown[] = [];
  for (const kind of receiverHooks.kinds) {
    const ofKind = hooks.filter(({ event }) => event === kind);
    try {
      await reconcileKind(receiverHooks, kind, ofKind, createsMissing);
    } catch (error) {
      // Ignore the error if the hook is live now: another process of the application may have repaired it concurrently.
      const isRace = error instanceof CarillonError && ['target_taken', 'not_found', 'hook_ended'].includes(error.code);
      const now = isRace ? await findHooks(receiverHooks) : [];
      if (!now.some(({ event, state }) => event === kind && state !== 'ended')) failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

async function reconcileKind(
  { carillon, at = '', signal }: ReceiverHooks,
  kind: HookKind,
  hooks: readonly Hook[],
  subscribing: boolean,
) {
  const live = hooks.find(({ state }) => state !== 'ended');
  if (live?.state === 'failing') await carillon.hooks.test(live.id, { signal });
  if (live !== undefined) return;
  const ended = hooks.toSorted((one, other) => (one.date_ended < other.date_ended ? -1 : 1)).at(-1);
  if (ended !== undefined && RESTORED_REASONS.includes(ended.ended_reason))
    await carillon.hooks.restore(ended.id, { signal });
  else if (subscribing) await carillon.hooks.create({ target_url: targetOf(at, kind), event: kind }, { signal });
}
