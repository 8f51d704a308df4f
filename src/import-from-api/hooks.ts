import { PAGE, pageOf } from './read.ts';
import type { Source } from './source.ts';

/** A hook at the source. */
export type ForeignHook = { readonly event: string; readonly target_url: string };

/** Upper bound for a source whose list grows or never ends. */
const MAX_HOOKS = 10_000;

/** The live hooks of the key's user at the source; undefined if it has no list of hooks (X1). */
export async function hooksOf(source: Source): Promise<readonly ForeignHook[] | undefined> {
  const found: ForeignHook[] = [];
  for (let offset = 0; ; ) {
    const reply = await source.get(['hooks'], { limit: PAGE, offset });
    if (reply.state !== 'found') return undefined;
    const { total, records } = pageOf(reply.body, 'hooks');
    found.push(...records.filter(isLive));
    offset += records.length;
    if (records.length === 0 || total === null || offset >= Math.min(total, MAX_HOOKS)) return found;
  }
}

function isLive(hook: unknown): hook is ForeignHook {
  if (typeof hook !== 'object' || hook === null) return false;
  const { event, target_url, state }: { event?: unknown; target_url?: unknown; state?: unknown } = hook;
  return typeof event === 'string' && typeof target_url === 'string' && state !== 'ended';
}
