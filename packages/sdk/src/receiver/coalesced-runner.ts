/**
 * Coalesces runs of `work`: only one runs at a time, and `ask` resolves with the first run that begins after
 * the call. All calls during a run share the next one.
 */
export function rounds(work: () => Promise<void>): { ask(): Promise<void>; settled(): Promise<unknown> } {
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
