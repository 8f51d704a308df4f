/**
 * A batch is complete after this many event-loop iterations without a new item. An idle iteration takes microseconds.
 */
const IDLE_ITERATIONS = 2;

/**
 * Waits until a batch is complete: runs event-loop iterations as long as they add items, up to `maxCount` items, so
 * that batches grow with the load. Runs at least one iteration, so that responses to earlier items can be sent.
 *
 * @param countItems returns the number of items that are waiting
 */
export async function waitForBatch(countItems: () => number, maxCount: number): Promise<void> {
  let idleIterations = 0;
  do {
    const countBefore = countItems();
    await new Promise<void>((resolve) => setImmediate(resolve));
    idleIterations = countItems() > countBefore ? 0 : idleIterations + 1;
  } while (idleIterations < IDLE_ITERATIONS && countItems() < maxCount);
}

/** Splits a list into batches of at most `maxLength` items, in order. An empty list has no batches. */
export function* splitIntoBatches<Item>(items: readonly Item[], maxLength: number): Generator<Item[], void> {
  for (let start = 0; start < items.length; start += maxLength) yield items.slice(start, start + maxLength);
}
