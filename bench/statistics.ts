/** Returns the quantile of the numbers at `share` (0 to 1), or NaN for an empty list. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (numbers: readonly number[]) => quantile(numbers, 0.5);

/** Rounds to three significant digits. */
export const roundToThreeDigits = (number: number) => (Number.isFinite(number) ? Number(number.toPrecision(3)) : null);

/**
 * Formats a number with three significant digits up to 1,000, as a whole number above, and with thousands
 * separators.
 */
export function formatNumber(value: number): string {
  const displayed = Math.abs(value) >= 1_000 ? Math.round(value) : (roundToThreeDigits(value) ?? Number.NaN);
  return displayed.toLocaleString('en');
}

export type LatencySummary = ReturnType<typeof summarizeLatencies>;

/** Returns the percentiles of latencies in milliseconds. */
export function summarizeLatencies(numbers: readonly number[]) {
  return {
    samples: numbers.length,
    p50: roundToThreeDigits(quantile(numbers, 0.5)),
    p95: roundToThreeDigits(quantile(numbers, 0.95)),
    p99: roundToThreeDigits(quantile(numbers, 0.99)),
    most: roundToThreeDigits(quantile(numbers, 1)),
  };
}

/** Returns milliseconds with fractions, from the monotonic clock that all processes of a machine share. */
export const monotonicNowMs = () => Number(process.hrtime.bigint()) / 1e6;
