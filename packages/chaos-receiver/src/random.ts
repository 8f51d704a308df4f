/** Chance that a seed decides: the same seed, the same numbers. For scripts and schedules, and nothing secret. */
export type SeededChance = {
  /** From 0 (inclusive) to 1 (exclusive). */
  fraction(): number;
  /** A whole number from 0 up to, and without, `end`. */
  below(end: number): number;
  /** One of them. */
  one<T>(of: readonly T[]): T;
  /** Another stream that this one decides, so that what one part draws shifts nothing in another. */
  fork(): SeededChance;
};

/** SplitMix32: 32 bits of state, every seed as good as any other. */
export function chanceFrom(seed: number): SeededChance {
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
    fork: () => chanceFrom(below(2 ** 32)),
  };
}
