/** A pseudo-random generator: the same seed gives the same numbers. Not for secrets. */
export type SeededRandom = {
  /** A number from 0 (inclusive) to 1 (exclusive). */
  fraction(): number;
  /** An integer from 0 (inclusive) to `end` (exclusive). */
  below(end: number): number;
  /** A random element. */
  one<T>(of: readonly T[]): T;
  /** An independent generator with a seed from this one: numbers that one part draws do not shift those of another. */
  fork(): SeededRandom;
};

/** SplitMix32: 32 bits of state. All seeds are equally good. */
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
    fraction,
    below,
    one: <T>(of: readonly T[]): T => of[below(of.length)] as T,
    fork: () => seededRandom(below(2 ** 32)),
  };
}
