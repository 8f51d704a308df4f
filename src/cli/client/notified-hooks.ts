import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import type { Hook } from '../../../packages/sdk/src/hooks.ts';
import type { OccurrenceKind } from '../../delivery/outbox/event-kinds.ts';
import type { ServiceClient } from './connect.ts';

/** Maximum number of users whose hooks are listed. */
const MAX_LISTED_USERS = 100;
/** Number of the last deliveries of a hook that are searched: others may become pending meanwhile. */
const MAX_SEARCHED_DELIVERIES = 100;

/** The hooks that got a delivery of an occurrence. */
export type NotifiedHooks = {
  readonly hooks: readonly Hook[];
  /** Whether these are all of them: most keys may not read the hooks of other users. */
  readonly isComplete: boolean;
};

/**
 * Finds the live hooks that got a delivery of an occurrence; undefined if the key may not read hooks. A hook alone does
 * not show whether it reports an occurrence: that depends on its scope, its user and the key that created it. Its
 * delivery is there at once, since it is written with the occurrence.
 */
export async function findNotifiedHooks(
  client: ServiceClient,
  kind: OccurrenceKind,
  resourceUrl: string,
): Promise<NotifiedHooks | undefined> {
  try {
    const { hooks, isComplete } = await listReadableHooks(client, kind);
    const notifiedHooks: Hook[] = [];
    for (const hook of hooks) if (await hasDelivery(client, hook, kind, resourceUrl)) notifiedHooks.push(hook);
    return { hooks: notifiedHooks, isComplete };
  } catch (error) {
    if (isNotPermitted(error)) return undefined;
    throw error;
  }
}

/** Lists the live hooks for a kind: those of the caller, and, as far as the key may read them, those of all users. */
async function listReadableHooks({ carillon }: ServiceClient, kind: OccurrenceKind): Promise<NotifiedHooks> {
  const hooksById = new Map<string, Hook>();
  const addHooks = async (filters: { readonly user_id?: string }) => {
    for await (const hook of carillon.hooks.each(filters)) {
      const isOfKind = hook.events.some((event) => event === kind || event === '*');
      if (hook.state !== 'ended' && isOfKind) hooksById.set(hook.id, hook);
    }
  };
  await addHooks({});
  let userCount = 0;
  try {
    for await (const { user_id } of carillon.users.each()) {
      userCount += 1;
      if (userCount > MAX_LISTED_USERS) break;
      await addHooks({ user_id });
    }
  } catch (error) {
    if (!isNotPermitted(error)) throw error;
    return { hooks: [...hooksById.values()], isComplete: false };
  }
  return { hooks: [...hooksById.values()], isComplete: userCount <= MAX_LISTED_USERS };
}

/** Whether a hook has a delivery of this occurrence among its last ones. The list begins with the oldest. */
async function hasDelivery(
  { carillon }: ServiceClient,
  { id: hook_id, user_id }: Hook,
  kind: OccurrenceKind,
  resourceUrl: string,
): Promise<boolean> {
  const { paging } = await carillon.deliveries.list({ hook_id, user_id, limit: 1 });
  const offset = Math.max(0, paging.total_records - MAX_SEARCHED_DELIVERIES);
  const { data } = await carillon.deliveries.list({ hook_id, user_id, offset });
  return data.some(({ event, resource_url }) => event === kind && resource_url === resourceUrl);
}

const isNotPermitted = (error: unknown): boolean => error instanceof CarillonError && error.code === 'not_permitted';
