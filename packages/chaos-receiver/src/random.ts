/** A pseudo-random number generator: the same seed gives the same numbers. It is not suitable for secrets. */
export type SeededRandom = {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  nextFraction(): number;
  /** Returns an integer from 0 (inclusive) to `end` (exclusive). */
  integerBelow(end: number): number;
  /** Returns a random element. */
  pick<T>(of: readonly T[]): T;
  /**
   * Creates an independent generator, seeded from this one. Numbers drawn from one generator do not affect the other.
   */
  fork(): SeededRandom;
};

/** Creates a SplitMix32 generator, which has 32 bits of state. All seeds are equally good. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const fraction = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    mixed ^= mixed >>> 15;
    return (mixed >>> 0) / 2 ** 32;
  };
  const below = (end: number) => Math.floor(fraction() * end);
  return {
    nextFraction: fraction,
    integerBelow: below,
    pick: <T>(of: readonly T[]): T => of[below(of.length)] as T,
    fork: () => seededRandom(below(2 ** 32)),
  };
}
