import type { Series, Side } from './bench.ts';

/** A system to measure: a floor, a peer or Carillon. */
export type Contender = {
  readonly name: string;
  readonly side?: Side;
  /** Runs one round and returns its results by unit: `/s`, `ms at p95`. */
  measure(): Promise<Readonly<Record<string, number>>>;
};

/**
 * Measures all contenders in every round, in a rotating order, so that none always runs first or after the same
 * one, and background load affects all of them.
 */
export async function inRounds(
  contenders: readonly Contender[],
  rounds: number,
  say: (line: string) => void,
): Promise<Series[]> {
  const series = new Map<string, Series & { rounds: number[] }>();
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of orderOfRound(round, contenders)) {
      const measured = await contender.measure();
      for (const [unit, value] of Object.entries(measured)) {
        const name = seriesOf(contender.name, unit);
        const existing = series.get(name) ?? { name, side: contender.side ?? 'ours', unit, rounds: [] };
        existing.rounds.push(value);
        series.set(name, existing);
      }
      const formatted = Object.entries(measured).map(([unit, value]) => `${rounded(value)} ${unit}`);
      say(`round ${round + 1}: ${contender.name}: ${formatted.join(', ')}`);
    }
  }
  return [...series.values()];
}

/** Starts with another contender in each round, and reverses the order of the others in every second round. */
function orderOfRound<Each>(round: number, all: readonly Each[]): Each[] {
  const first = round % all.length;
  const order = [...all.slice(first), ...all.slice(0, first)];
  return round % 2 === 0 ? order : [...order.slice(0, 1), ...order.slice(1).reverse()];
}

/** The name of the series of a contender in one unit. */
export function seriesOf(contender: string, unit: string): string {
  return `${contender}, ${unit}`;
}

/** The quantile of the numbers; NaN of an empty list. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (numbers: readonly number[]) => quantile(numbers, 0.5);

/** Rounds to three significant digits. */
export const rounded = (number: number) => (Number.isFinite(number) ? Number(number.toPrecision(3)) : null);

/** Three significant digits up to 1,000, whole numbers above, with thousands separators. */
export function formatNumber(value: number): string {
  const displayed = Math.abs(value) >= 1_000 ? Math.round(value) : (rounded(value) ?? Number.NaN);
  return displayed.toLocaleString('en');
}

export type Latencies = ReturnType<typeof latencies>;

/** The percentiles of latencies in milliseconds. */
export function latencies(numbers: readonly number[]) {
  return {
    samples: numbers.length,
    p50: rounded(quantile(numbers, 0.5)),
    p95: rounded(quantile(numbers, 0.95)),
    p99: rounded(quantile(numbers, 0.99)),
    most: rounded(quantile(numbers, 1)),
  };
}

/** Milliseconds with fractions, from the monotonic clock that all processes of a machine share. */
export const moment = () => Number(process.hrtime.bigint()) / 1e6;
