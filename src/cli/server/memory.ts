import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

// Objects that are created while modules load live long. They would make V8 grow its young generation to 22 MiB, and V8
// never shrinks the young generation of an idle process.

/** Keeps V8's young generation at its initial size during start-up. */
export function limitYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/**
 * Size at which the young generation stops growing, in bytes. V8 would let it grow to 64 MiB under attack, and creating
 * records is no faster with more than this.
 */
const MAX_YOUNG_GENERATION_BYTES = 32 * 1_024 * 1_024;

/** Lets V8's young generation grow to MAX_YOUNG_GENERATION_BYTES, for the short-lived objects of requests. */
export function restoreYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
  const observer = new PerformanceObserver(() => {
    const youngGeneration = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (youngGeneration === undefined || youngGeneration.space_size < MAX_YOUNG_GENERATION_BYTES) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    observer.disconnect();
  });
  observer.observe({ entryTypes: ['gc'] });
}
