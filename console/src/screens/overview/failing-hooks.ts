import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { isAdmin, me } from '../../app/session.ts';

/** Number of users whose hooks are searched. */
const MAX_USERS = 20;

const MAX_HOOKS = 50;

type HookCounts = { readonly failing: number; readonly ended: number };

/**
 * Finds the hooks that are failing or have ended today. Searches the current user's hooks first; for an admin
 * also other users', one by one, until as many are found as the overview counts. The API has no list across
 * users.
 */
export async function findTroubled({ failing, ended }: HookCounts, signal: AbortSignal): Promise<readonly Hook[]> {
  const found: Hook[] = [];
  if (failing + ended === 0) return found;
  for (const userId of await userIdsToSearch(signal)) {
    const [failingHooks, endedHooks] = await Promise.all([
      client.hooks.list({ user_id: userId, state: 'failing', limit: MAX_HOOKS }, { signal }),
      client.hooks.list({ user_id: userId, state: 'ended' }, { signal }),
    ]);
    found.push(...failingHooks.data, ...endedHooks.data.filter(({ date_ended }) => date_ended >= today()));
    if (found.length >= failing + ended) break;
  }
  return found.slice(0, MAX_HOOKS);
}

async function userIdsToSearch(signal: AbortSignal): Promise<readonly string[]> {
  const mine = me().user.user_id;
  if (!isAdmin()) return [mine];
  const { data } = await client.users.list({ limit: MAX_USERS }, { signal });
  return [mine, ...data.map(({ user_id }) => user_id).filter((one) => one !== mine)];
}

/** Start of the day in UTC, as an API timestamp. */
function today(): string {
  return `${new Date().toISOString().slice(0, 10)} 00:00:00`;
}
