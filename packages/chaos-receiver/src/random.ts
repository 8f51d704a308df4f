/** A pseudo-random number generator: the same seed gives the same numbers. It is not suitable for secrets. */
export type SeededRandom = {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  nextFraction(): number;
  /** Returns an integer from 0 (inclusive) to `end` (exclusive). */
  integerBelow(end: number): number;
  /** Returns a random element. */
  pick<T>(values: readonly T[]): T;
  /**
   * Creates an independent generator, seeded from this one. Numbers drawn from one generator do not affect the other.
   */
  fork(): SeededRandom;
};

/** Creates a SplitMix32 generator, which has 32 bits of state. All seeds are equally good. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const drawFraction = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixedBits = state ^ (state >>> 16);
    mixedBits = Math.imul(mixedBits, 0x21f0aaad);
    mixedBits ^= mixedBits >>> 15;
    mixedBits = Math.imul(mixedBits, 0x735a2d97);
    mixedBits ^= mixedBits >>> 15;
    return (mixedBits >>> 0) / 2 ** 32;
  };
  const drawIntegerBelow = (end: number) => Math.floor(drawFraction() * end);
  return {
    nextFraction: drawFraction,
    integerBelow: drawIntegerBelow,
    pick: <T>(values: readonly T[]): T => values[drawIntegerBelow(values.length)] as T,
    fork: () => seededRandom(drawIntegerBelow(2 ** 32)),
  };
}
