import type { Hook } from '../../../../packages/sdk/src/hooks.ts';
import { client } from '../../app/client.ts';
import { isAdmin, me } from '../../app/session.ts';

/** Users whose hooks are looked through for those that the figures speak of. */
const MAX_USERS = 20;

const SHOWN = 50;

type Wanted = { readonly failing: number; readonly ended: number };

/**
 * The hooks that are failing and those that have ended today, as many as the figures say: the caller's first, then, for
 * an admin, user by user until all are found.
 */
export async function findTroubled({ failing, ended }: Wanted, signal: AbortSignal): Promise<readonly Hook[]> {
  const found: Hook[] = [];
  if (failing + ended === 0) return found;
  for (const userId of await whose(signal)) {
    const [bad, over] = await Promise.all([
      client.hooks.list({ user_id: userId, state: 'failing', limit: SHOWN }, { signal }),
      client.hooks.list({ user_id: userId, state: 'ended' }, { signal }),
    ]);
    found.push(...bad.data, ...over.data.filter(({ date_ended }) => date_ended >= today()));
    if (found.length >= failing + ended) break;
  }
  return found.slice(0, SHOWN);
}

async function whose(signal: AbortSignal): Promise<readonly string[]> {
  const mine = me().user.user_id;
  if (!isAdmin()) return [mine];
  const { data } = await client.users.list({ limit: MAX_USERS }, { signal });
  return [mine, ...data.map(({ user_id }) => user_id).filter((one) => one !== mine)];
}

/** The beginning of the day in UTC, as the service writes it. */
function today(): string {
  return `${new Date().toISOString().slice(0, 10)} 00:00:00`;
}
