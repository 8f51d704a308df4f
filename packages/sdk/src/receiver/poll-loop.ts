import { callAfter } from './signature.ts';

/** Initial delay after a failed poll. It doubles with each further failure. */
const INITIAL_WAIT_MS = 1_000;
/** Maximum delay after a failed poll. */
const MAX_WAIT_MS = 60_000;

/** A loop that polls at intervals, and sooner after a failure. */
export type PollLoop = {
  /** Starts polling. */
  start(): void;
  /** Schedules the next poll soon, after a failure. */
  pollSoon(): void;
  stop(): void;
};

/**
 * Creates a poll loop. Call `start` to begin polling. Polls never overlap. After a failure, the next poll follows with
 * a backoff.
 *
 * @param poll one poll; it rejects if it should be retried soon
 * @param everyMs interval between successful polls in milliseconds; 0 polls only after a failure
 */
export function createPollLoop(poll: () => Promise<void>, everyMs: number): PollLoop {
  let isStarted = false;
  let isPolling = false;
  let isPollDueSoon = false;
  let failures = 0;
  let cancel = () => {};

  function schedule(): void {
    cancel();
    const waitMs = isPollDueSoon ? Math.min(INITIAL_WAIT_MS * 2 ** Math.min(failures, 10), MAX_WAIT_MS) : everyMs;
    if (isStarted && waitMs > 0) cancel = callAfter(waitMs, run);
  }
  async function run(): Promise<void> {
    if (isPolling) return;
    isPolling = true;
    isPollDueSoon = false;
    try {
      await poll();
      failures = 0;
    } catch {
      failures += 1;
      isPollDueSoon = true;
    }
    isPolling = false;
    schedule();
  }

  return {
    start() {
      isStarted = true;
      isPollDueSoon = false;
      schedule();
    },
    pollSoon() {
      if (isPollDueSoon) return;
      isPollDueSoon = true;
      if (!isPolling) schedule();
    },
    stop() {
      isStarted = false;
      cancel();
    },
  };
}

/**
 * Coalesces runs of `work`: only one is active at a time. `requestRun` resolves with the first run that begins after
 * the call, so all calls during a run share the next one.
 */
export function coalesce(work: () => Promise<void>): { requestRun(): Promise<void>; whenIdle(): Promise<unknown> } {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | undefined;
  const begin = () => {
    next = undefined;
    const run = work();
    running = run.catch(() => undefined);
    return run;
  };
  return {
    requestRun() {
      next ??= running.then(begin);
      return next;
    },
    whenIdle: () => running,
  };
}
