import { CarillonError } from '../../../../packages/sdk/src/errors.ts';
import { client } from '../../app/client.ts';

const RETRY_DELAY_MS = 3_000;
/** Throttle: minimum time between two reloads. */
const MIN_INTERVAL_MS = 400;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Throttles reloads: one at a time, with a pause between two. Calls during a run cause one further run. */
function throttled(work: () => Promise<void>): () => void {
  let isRequested = false;
  let isBusy = false;
  const run = async () => {
    isBusy = true;
    while (isRequested) {
      isRequested = false;
      await work();
      await pause(MIN_INTERVAL_MS);
    }
    isBusy = false;
  };
  return () => {
    isRequested = true;
    if (!isBusy) void run();
  };
}

/** Callbacks that reload data. */
type Reloads = { windows(): Promise<void>; projects(): Promise<void> };

/**
 * Live updates: follows the feed and reloads when an event, task or project was created, changed or deleted, by
 * any user of the account (`account`) or by the same user elsewhere (`own`). Reconnects until aborted or signed
 * out.
 */
export async function follow(scope: 'own' | 'account', reloads: Reloads, signal: AbortSignal): Promise<void> {
  const changed = throttled(() => reloads.windows());
  const projectsChanged = throttled(() => reloads.projects());
  while (!signal.aborted) {
    try {
      for await (const { kind } of client.notifications.follow({ after: 'latest', scope }, { signal })) {
        if (/_(event|task|project)$/.test(kind)) changed();
        if (kind.endsWith('_project')) projectsChanged();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CarillonError && ['signed_out', 'not_permitted'].includes(error.code)) return;
    }
    await pause(RETRY_DELAY_MS);
    // Changes may have been missed while disconnected.
    if (!signal.aborted) changed();
  }
}
