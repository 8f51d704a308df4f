import { CarillonError } from '../../../../packages/sdk/src/errors.ts';
import { client } from '../../app/client.ts';

const RETRY_DELAY_MS = 3_000;
/** While others change a lot, it is looked at this often and not more. */
const MIN_INTERVAL_MS = 400;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Does something whenever it is wanted: one at a time, and at most every so often. */
function sparingly(work: () => Promise<void>): () => void {
  let isWanted = false;
  let isBusy = false;
  const run = async () => {
    isBusy = true;
    while (isWanted) {
      isWanted = false;
      await work();
      await pause(MIN_INTERVAL_MS);
    }
    isBusy = false;
  };
  return () => {
    isWanted = true;
    if (!isBusy) void run();
  };
}

/** What looks again at what has changed. */
type Again = { windows(): Promise<void>; projects(): Promise<void> };

/**
 * Looks again when an event, a task or a project was created, changed or deleted: by anybody of the account where the
 * scope allows it, else by the same user elsewhere.
 */
export async function follow(scope: 'own' | 'account', again: Again, signal: AbortSignal): Promise<void> {
  const changed = sparingly(() => again.windows());
  const projectsChanged = sparingly(() => again.projects());
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
    // What happened while nobody listened.
    if (!signal.aborted) changed();
  }
}
