import type { FeedKind } from '../api-types.ts';
import type { Carillon } from '../carillon.ts';
import { CarillonError } from '../errors.ts';
import type { Hook, HookInput } from '../hooks.ts';
import { isHookKind, type Subscription } from './feed-pages.ts';
import { ANY_KIND, type HandledKind } from './occurrence-handlers.ts';

/**
 * Settings for the hooks of a receiver. It has one hook, whose target is the URL of the receiver. Earlier versions
 * created a hook for each event kind, with the kind in the query of the target: these hooks stay in use.
 */
export type ReceiverHookSettings = {
  readonly carillon: Carillon;
  /** URL of the receiver; undefined if the application creates the hooks itself. */
  readonly receiverUrl: string | undefined;
  readonly subscription: Subscription;
  readonly signal: AbortSignal;
};

/** The receiver restores a hook that ended for one of these reasons. It does not restore a deleted hook. */
const RESTORABLE_ENDED_REASONS: readonly string[] = ['answered_401', 'three_failures'];

/** Returns the target URL of a hook for one event kind. */
export function targetUrlOf(receiverUrl: string, kind: HandledKind): string {
  const url = new URL(receiverUrl);
  // Append text: `searchParams` would encode the existing query again, and change a query that is not form-encoded.
  url.search += `${url.search === '' ? '' : '&'}kind=${kind}`;
  return url.href;
}

/** The kinds that a hook reports. Earlier versions of the service have no `events`. */
const eventsOf = ({ events, event }: Hook): readonly (FeedKind | '*')[] => events ?? (event === '' ? [] : [event]);

const isLive = ({ state }: Hook): boolean => state !== 'ended';

/** The `events` of the hook for these kinds. */
const toEvents = (kinds: readonly HandledKind[]): readonly HandledKind[] =>
  kinds.includes(ANY_KIND) ? [ANY_KIND] : kinds;

/** Finds the caller's hooks that notify this receiver. Without a receiver URL, finds all hooks of its kinds. */
export async function findHooks({ carillon, receiverUrl, subscription, signal }: ReceiverHookSettings) {
  const wantedEvents = toEvents(subscription.kinds);
  const targetUrls =
    receiverUrl === undefined
      ? undefined
      : new Set([receiverUrl, ...wantedEvents.map((kind) => targetUrlOf(receiverUrl, kind))]);
  const foundHooks: Hook[] = [];
  for await (const hook of carillon.hooks.each({}, { signal })) {
    const events = eventsOf(hook);
    const isOfKinds =
      [...wantedEvents, ...events].includes(ANY_KIND) || events.some((one) => wantedEvents.includes(one));
    const isFound = targetUrls === undefined ? isOfKinds : targetUrls.has(new URL(hook.target_url).href);
    if (isFound) foundHooks.push(hook);
  }
  return foundHooks;
}

/** A hook that a receiver needs: its target, and the kinds that it reports. */
type NeededHook = { readonly targetUrl: string; readonly kinds: readonly HandledKind[] };

const findHooksAt = (hooks: readonly Hook[], targetUrl: string): readonly Hook[] =>
  hooks.filter(({ target_url }) => new URL(target_url).href === targetUrl);

/** The live hook at a target, or else the one that ended last. */
function findCurrentHook(hooks: readonly Hook[], targetUrl: string): Hook | undefined {
  const hooksAtTarget = findHooksAt(hooks, targetUrl);
  const byEnd = hooksAtTarget.toSorted((one, other) => (one.date_ended < other.date_ended ? -1 : 1));
  return hooksAtTarget.find(isLive) ?? byEnd.at(-1);
}

const isRestorable = ({ ended_reason }: Hook): boolean => RESTORABLE_ENDED_REASONS.includes(ended_reason);

/** Returns the hooks that a receiver needs: existing ones for one kind each, and one for all other kinds. */
function planHooks({ receiverUrl = '', subscription }: ReceiverHookSettings, hooks: readonly Hook[]): NeededHook[] {
  const events = toEvents(subscription.kinds);
  const hasOwnHook = (kind: HandledKind) => {
    const hook = findCurrentHook(hooks, targetUrlOf(receiverUrl, kind));
    return subscription.scope === 'own' && hook?.event === kind && (isLive(hook) || isRestorable(hook));
  };
  const otherKinds = events.filter((kind) => !hasOwnHook(kind));
  return [
    ...events.filter(hasOwnHook).map((kind) => ({ targetUrl: targetUrlOf(receiverUrl, kind), kinds: [kind] })),
    ...(otherKinds.length === 0 ? [] : [{ targetUrl: receiverUrl, kinds: otherKinds }]),
  ];
}

/**
 * Repairs the hooks of a receiver (X1). A failing hook is tested, which makes its pending deliveries due immediately. A
 * hook that ended after failures or a 401 is restored.
 *
 * @param createsMissingHooks whether to create a missing hook, and to change a hook that reports something else
 */
export async function reconcileHooks(hookSettings: ReceiverHookSettings, createsMissingHooks: boolean): Promise<void> {
  if (hookSettings.receiverUrl === undefined) return;
  if (createsMissingHooks) await requireProject(hookSettings);
  const hooks = await findHooks(hookSettings);
  const errors: unknown[] = [];
  for (const neededHook of planHooks(hookSettings, hooks)) {
    try {
      await reconcileHook(hookSettings, neededHook, hooks, createsMissingHooks);
    } catch (error) {
      if (!(await isRepaired(hookSettings, neededHook, createsMissingHooks, error))) errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** Rejects if the project is gone: its hook stays live, but reports nothing more. Not every key may read projects. */
async function requireProject({ carillon, subscription, signal }: ReceiverHookSettings): Promise<void> {
  if (subscription.projectId === undefined) return;
  try {
    await carillon.projects.get(subscription.projectId, { signal });
  } catch (error) {
    if (!(error instanceof CarillonError && error.code === 'not_permitted')) nameProject(subscription)(error);
  }
}

/** Whether another process of the application has concurrently done what failed with this error. */
async function isRepaired(
  hookSettings: ReceiverHookSettings,
  { targetUrl, kinds }: NeededHook,
  createsMissingHooks: boolean,
  error: unknown,
): Promise<boolean> {
  if (!(error instanceof CarillonError && ['target_taken', 'not_found', 'hook_ended'].includes(error.code)))
    return false;
  const hooks = findHooksAt(await findHooks(hookSettings), targetUrl).filter(isLive);
  return hooks.some((hook) => !createsMissingHooks || reports(hook, kinds, hookSettings.subscription));
}

async function reconcileHook(
  hookSettings: ReceiverHookSettings,
  neededHook: NeededHook,
  hooks: readonly Hook[],
  createsMissingHooks: boolean,
): Promise<void> {
  const { carillon, subscription, signal } = hookSettings;
  const hook = findCurrentHook(hooks, neededHook.targetUrl);
  if (hook === undefined || !(isLive(hook) || isRestorable(hook))) {
    if (createsMissingHooks) await createHook(hookSettings, neededHook);
    return;
  }
  if (!isLive(hook)) await carillon.hooks.restore(hook.id, { signal });
  // A disabled hook waits until its owner enables it.
  else if (hook.state === 'failing' && hook.enabled !== '0') await carillon.hooks.test(hook.id, { signal });
  if (!createsMissingHooks || reports(hook, neededHook.kinds, subscription)) return;
  const change = toHookSettings(neededHook.kinds, subscription);
  await carillon.hooks
    .update(hook.id, change, { signal })
    .catch(nameProject(subscription, `, or the hook ${hook.id} no longer exists`));
}

/** Returns an error handler that rethrows. The `not_found` of the service does not say that it means the project. */
function nameProject({ scope, projectId }: Subscription, alternative = ''): (error: unknown) => never {
  return (cause) => {
    if (scope !== 'project' || !(cause instanceof CarillonError) || cause.code !== 'not_found') throw cause;
    const { code, status, requestId } = cause;
    const message = `Project ${projectId} does not exist${alternative}.`;
    throw new CarillonError({ code, status, requestId, message, cause });
  };
}

function toHookSettings(kinds: readonly HandledKind[], { scope, projectId }: Subscription) {
  return { events: kinds, scope, project_id: projectId };
}

/** Whether a hook reports these kinds in the scope of the subscription. */
function reports(hook: Hook, kinds: readonly HandledKind[], { scope, projectId = '0' }: Subscription): boolean {
  // Earlier versions of the service have no scopes, and no way to change a hook.
  if (hook.scope === undefined) return true;
  const isSameScope = hook.scope === scope && hook.project_id === projectId;
  return isSameScope && eventsOf(hook).toSorted().join() === kinds.toSorted().join();
}

async function createHook(
  { carillon, receiverUrl = '', subscription, signal }: ReceiverHookSettings,
  { targetUrl, kinds }: NeededHook,
): Promise<void> {
  const create = (input: HookInput) => carillon.hooks.create(input, { signal }).catch(nameProject(subscription));
  try {
    await create({ target_url: targetUrl, ...toHookSettings(kinds, subscription) });
  } catch (error) {
    // Earlier versions of the service require `event`: they need a hook for each kind.
    const isEventRequired = error instanceof CarillonError && error.errors.some(({ field }) => field === 'event');
    if (!isEventRequired || subscription.scope !== 'own' || !kinds.every(isHookKind)) throw error;
    for (const kind of kinds.filter(isHookKind))
      await create({ target_url: targetUrlOf(receiverUrl, kind), event: kind });
  }
}
