import { callAfter } from '../runtime.ts';

/** Initial delay after a failed poll. It doubles with each further failure. */
const INITIAL_POLL_BACKOFF_MS = 1_000;
/** Maximum delay after a failed poll. */
const MAX_POLL_BACKOFF_MS = 60_000;

/** A loop that polls at intervals, and sooner after a failure. */
export type PollLoop = {
  /** Starts polling. */
  start(): void;
  /** Schedules the next poll with the delay that follows a failure, instead of the interval. */
  pollSoon(): void;
  stop(): void;
};

/**
 * Creates a poll loop. Call `start` to begin polling. Polls never overlap. After a failure, the next poll is delayed by
 * a backoff.
 *
 * @param poll one poll; it rejects if it should be retried soon
 * @param pollIntervalMs interval between successful polls in milliseconds; 0 polls only after a failure
 */
export function createPollLoop(poll: () => Promise<void>, pollIntervalMs: number): PollLoop {
  let isStarted = false;
  let isPolling = false;
  let isPollDueSoon = false;
  let failureCount = 0;
  let cancelTimer = () => {};

  function scheduleNextPoll(): void {
    cancelTimer();
    const waitMs = isPollDueSoon
      ? Math.min(INITIAL_POLL_BACKOFF_MS * 2 ** Math.min(failureCount, 10), MAX_POLL_BACKOFF_MS)
      : pollIntervalMs;
    if (isStarted && waitMs > 0) cancelTimer = callAfter(waitMs, runPoll);
  }
  async function runPoll(): Promise<void> {
    if (isPolling) return;
    isPolling = true;
    isPollDueSoon = false;
    try {
      await poll();
      failureCount = 0;
    } catch {
      failureCount += 1;
      isPollDueSoon = true;
    }
    isPolling = false;
    scheduleNextPoll();
  }

  return {
    start() {
      isStarted = true;
      isPollDueSoon = false;
      scheduleNextPoll();
    },
    pollSoon() {
      if (isPollDueSoon) return;
      isPollDueSoon = true;
      if (!isPolling) scheduleNextPoll();
    },
    stop() {
      isStarted = false;
      cancelTimer();
    },
  };
}

/**
 * Coalesces runs of `work`, of which only one is active at a time. `requestRun` resolves with the first run that begins
 * after the call, so all calls during a run wait for the same next run. `waitForActiveRun` resolves when the active run
 * has ended, even if another run was requested.
 */
export function coalesceRuns(work: () => Promise<void>): {
  requestRun(): Promise<void>;
  waitForActiveRun(): Promise<unknown>;
} {
  let activeRun: Promise<unknown> = Promise.resolve();
  let nextRun: Promise<void> | undefined;
  const startRun = () => {
    nextRun = undefined;
    const currentRun = work();
    activeRun = currentRun.catch(() => undefined);
    return currentRun;
  };
  return {
    requestRun() {
      nextRun ??= activeRun.then(startRun);
      return nextRun;
    },
    waitForActiveRun: () => activeRun,
  };
}
