import type { ComparisonSide, ResultSeries } from './bench.ts';
import { roundToThreeDigits } from './statistics.ts';

/** A system to measure: a floor, a peer or Carillon. */
export type Contender = {
  readonly name: string;
  readonly side?: ComparisonSide;
  /** Runs one round and returns its results by unit, such as `/s` or `ms at p95`. */
  measure(): Promise<Readonly<Record<string, number>>>;
};

/**
 * Measures all contenders in every round, in a rotating order. So no contender always runs first or after the same
 * other one, and background load affects all of them.
 */
export async function measureInRounds(
  contenders: readonly Contender[],
  rounds: number,
  say: (line: string) => void,
): Promise<ResultSeries[]> {
  const series = new Map<string, ResultSeries & { rounds: number[] }>();
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of orderOfRound(round, contenders)) {
      const measured = await contender.measure();
      for (const [unit, value] of Object.entries(measured)) {
        const name = seriesName(contender.name, unit);
        const existing = series.get(name) ?? { name, side: contender.side ?? 'ours', unit, rounds: [] };
        existing.rounds.push(value);
        series.set(name, existing);
      }
      const formatted = Object.entries(measured).map(([unit, value]) => `${roundToThreeDigits(value)} ${unit}`);
      say(`round ${round + 1}: ${contender.name}: ${formatted.join(', ')}`);
    }
  }
  return [...series.values()];
}

/**
 * Returns the contenders in the order of a round. Each round starts with another contender, and every second round
 * reverses the order of the rest.
 */
function orderOfRound<Each>(round: number, all: readonly Each[]): Each[] {
  const first = round % all.length;
  const order = [...all.slice(first), ...all.slice(0, first)];
  return round % 2 === 0 ? order : [...order.slice(0, 1), ...order.slice(1).reverse()];
}

/** Returns the name of the series of a contender's results in this unit, such as `Svix, /s`. */
export function seriesName(contender: string, unit: string): string {
  return `${contender}, ${unit}`;
}
