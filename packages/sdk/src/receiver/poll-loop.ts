import { after } from './time.ts';

/** The wait before another look after one that failed: doubled from the first to the longest. */
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 60_000;

/** Looks that come about by themselves. */
export type Watch = {
  /** From now on, every so often. */
  begin(): void;
  /** The next one is due soon: something went wrong. */
  soon(): void;
  end(): void;
};

/**
 * One look at a time: what goes wrong during one has another follow it soon.
 *
 * @param look rejects when it should be tried again soon
 * @param everyMs from one look to the next while all is well; 0: only after something went wrong
 */
export function watch(look: () => Promise<void>, everyMs: number): Watch {
  let isOn = false;
  let isLooking = false;
  let isSoon = false;
  let failures = 0;
  let cancel = () => {};

  function plan(): void {
    cancel();
    const waitMs = isSoon ? Math.min(FIRST_WAIT_MS * 2 ** Math.min(failures, 10), MAX_WAIT_MS) : everyMs;
    if (isOn && waitMs > 0) cancel = after(waitMs, run);
  }
  async function run(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    isSoon = false;
    try {
      await look();
      failures = 0;
    } catch {
      failures += 1;
      isSoon = true;
    }
    isLooking = false;
    plan();
  }

  return {
    begin() {
      isOn = true;
      isSoon = false;
      plan();
    },
    soon() {
      if (isSoon) return;
      isSoon = true;
      if (!isLooking) plan();
    },
    end() {
      isOn = false;
      cancel();
    },
  };
}
