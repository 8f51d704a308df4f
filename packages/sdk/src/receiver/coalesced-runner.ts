/**
 * Makes of `work` something that can be asked for at any time: one is under way at a time, and whoever asks gets the first
 * that begins after they asked. However many ask meanwhile, they share it.
 */
export function rounds(work: () => Promise<void>): { ask(): Promise<void>; settled(): Promise<unknown> } {
  let underWay: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | undefined;
  const begin = () => {
    next = undefined;
    const round = work();
    underWay = round.catch(() => undefined);
    return round;
  };
  return {
    ask() {
      next ??= underWay.then(begin);
      return next;
    },
    settled: () => underWay,
  };
}
