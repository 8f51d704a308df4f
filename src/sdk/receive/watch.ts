import { after } from './time.ts';

/** The wait before another look after one that failed: doubled from the first to the longest. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/** Looks that come about by themselves. */
export type Watch = {
  /** From now on, every so often. */
  begin(): void;
  /** The next one is due soon: something went wrong. */
  soon(): void;
  end(): void;
};

/**
 * @param look rejects when it should be tried again soon
 * @param everyMs from one look to the next while all is well; 0: only after something went wrong
 */
export function watch(look: () => Promise<void>, everyMs: number): Watch {
  let isOn = false;
  let isSoon = false;
  let failures = 0;
  let cancel = () => {};

  function plan(waitMs: number, soon: boolean): void {
    cancel();
    isSoon = soon;
    if (isOn && waitMs > 0) cancel = after(waitMs, run);
  }
  function run(): void {
    isSoon = false;
    look().then(
      () => {
        failures = 0;
        plan(everyMs, false);
      },
      () => {
        failures += 1;
        planSoon();
      },
    );
  }
  const planSoon = () => plan(Math.min(FIRST_WAIT_MS * 2 ** Math.min(failures, 10), LONGEST_WAIT_MS), true);

  return {
    begin() {
      isOn = true;
      plan(everyMs, false);
    },
    soon() {
      if (!isSoon) planSoon();
    },
    end() {
      isOn = false;
      cancel();
    },
  };
}
