import { setFlagsFromString } from 'node:v8';
import { type Clock, sleep } from '../../clock.ts';

// Objects that are created while modules load live long. They would make V8 grow its young generation to 22 MiB, and V8
// never shrinks the young generation of an idle process.

/** Keeps V8's young generation at its initial size during start-up. */
export function limitYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Restores V8's default growth of the young generation, for the short-lived objects of requests. */
export function restoreYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}

// V8 starts a full collection only when the old generation has grown to about four times the objects that survived the
// last one. During a flood of requests these are 150 MiB of garbage. A lower growth factor would slow down all writes,
// so a full collection is requested only while the process is large.

/** Resident memory above which a full collection is requested. */
const RESIDENT_LIMIT_BYTES = 320 * 1_024 * 1_024;
/** Memory that must have been allocated since the last requested collection, as a multiple of what survived it. */
const GROWTH_BEFORE_COLLECTION = 1.5;
const CHECK_INTERVAL_MS = 1_000;
/** Minimum time between two requested collections. Each stops the process for some 20 to 50 ms. */
const MIN_COLLECTION_INTERVAL_MS = 10_000;

/** Requests full garbage collections while the process is large and contains much garbage. Runs until the process ends. */
export async function limitGarbage(clock: Clock): Promise<never> {
  const collectIfLarge = createCollector(RESIDENT_LIMIT_BYTES);
  for (;;) await sleep(clock, (await collectIfLarge()) ? MIN_COLLECTION_INTERVAL_MS : CHECK_INTERVAL_MS);
}

/**
 * Returns a function that requests a full garbage collection if the resident memory is above the limit and the heap
 * has grown since the last one. It resolves to whether it did, after the collection.
 */
export function createCollector(residentLimitBytes: number): () => Promise<boolean> {
  let survivedBytes = 0;
  return async () => {
    if (process.memoryUsage.rss() < residentLimitBytes) return false;
    if (usedBytes() < survivedBytes * GROWTH_BEFORE_COLLECTION) return false;
    await makeNextCollectionFull();
    survivedBytes = usedBytes();
    return true;
  };
}

/**
 * Makes V8's next collection of the young generation a full collection, and resolves after it. The function `gc` would
 * need a second V8 context, with which creating a record is 20 % slower.
 */
function makeNextCollectionFull(): Promise<void> {
  return new Promise((resolve) => {
    const observer = new PerformanceObserver(() => {
      setFlagsFromString('--no-gc-global');
      observer.disconnect();
      resolve();
    });
    observer.observe({ entryTypes: ['gc'] });
    setFlagsFromString('--gc-global');
  });
}

/** Memory of JavaScript objects and of the buffers that they own. */
function usedBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
