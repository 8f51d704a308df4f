import { after } from './signature.ts';

/** Exponential backoff after a failed poll. */
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 60_000;

/** A poll loop. */
export type PollLoop = {
  /** Starts polling. */
  begin(): void;
  /** Polls soon, after a failure. */
  soon(): void;
  end(): void;
};

/**
 * Creates a poll loop. Polls never overlap; after a failure, the next one follows with a backoff.
 *
 * @param poll the poll; rejects if it should be retried soon
 * @param everyMs interval between successful polls; 0: only after a failure
 */
export function startPollLoop(poll: () => Promise<void>, everyMs: number): PollLoop {
  let isOn = false;
  let isPolling = false;
  let isSoon = false;
  let failures = 0;
  let cancel = () => {};

  function schedule(): void {
    cancel();
    const waitMs = isSoon ? Math.min(FIRST_WAIT_MS * 2 ** Math.min(failures, 10), MAX_WAIT_MS) : everyMs;
    if (isOn && waitMs > 0) cancel = after(waitMs, run);
  }
  async function run(): Promise<void> {
    if (isPolling) return;
    isPolling = true;
    isSoon = false;
    try {
      await poll();
      failures = 0;
    } catch {
      failures += 1;
      isSoon = true;
    }
    isPolling = false;
    schedule();
  }

  return {
    begin() {
      isOn = true;
      isSoon = false;
      schedule();
    },
    soon() {
      if (isSoon) return;
      isSoon = true;
      if (!isPolling) schedule();
    },
    end() {
      isOn = false;
      cancel();
    },
  };
}

/**
 * Coalesces runs of `work`: only one runs at a time, and `ask` resolves with the first run that begins after
 * the call. All calls during a run share the next one.
 */
export function coalesce(work: () => Promise<void>): { ask(): Promise<void>; settled(): Promise<unknown> } {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | undefined;
  const begin = () => {
    next = undefined;
    const run = work();
    running = run.catch(() => undefined);
    return run;
  };
  return {
    ask() {
      next ??= running.then(begin);
      return next;
    },
    settled: () => running,
  };
}
