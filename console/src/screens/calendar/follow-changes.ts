import { CarillonError } from '../../../../packages/sdk/src/errors.ts';
import { client } from '../../app/client.ts';

const FOLLOW_RETRY_DELAY_MS = 3_000;
/** Minimum time between two reloads by live updates. */
const MIN_RELOAD_INTERVAL_MS = 400;

/** Callbacks that reload the displayed data. */
type ReloadCallbacks = { reloadEvents(): Promise<void>; reloadProjects(): Promise<void> };

/**
 * Live updates: follows the feed, and reloads when an event, task or project was created, changed or deleted. The
 * scope `account` reports the changes of all users of the account, `own` only those of the current user. Reconnects
 * until aborted or signed out.
 */
export async function followChanges(
  scope: 'own' | 'account',
  callbacks: ReloadCallbacks,
  signal: AbortSignal,
): Promise<void> {
  const reloadEvents = throttleReloads(() => callbacks.reloadEvents());
  const reloadProjects = throttleReloads(() => callbacks.reloadProjects());
  while (!signal.aborted) {
    try {
      for await (const { kind } of client.notifications.follow({ after: 'latest', scope }, { signal })) {
        if (/_(event|task|project)$/.test(kind)) reloadEvents();
        if (kind.endsWith('_project')) reloadProjects();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CarillonError && ['signed_out', 'not_permitted'].includes(error.code)) return;
    }
    await delay(FOLLOW_RETRY_DELAY_MS);
    // Reload, because changes may have been missed while disconnected.
    if (!signal.aborted) reloadEvents();
  }
}

/** Throttles reloads: one at a time, with a pause after each. Calls during a reload cause one further reload. */
function throttleReloads(reload: () => Promise<void>): () => void {
  let isReloadRequested = false;
  let isReloading = false;
  const runReloads = async () => {
    isReloading = true;
    while (isReloadRequested) {
      isReloadRequested = false;
      await reload();
      await delay(MIN_RELOAD_INTERVAL_MS);
    }
    isReloading = false;
  };
  return () => {
    isReloadRequested = true;
    if (!isReloading) void runReloads();
  };
}

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
