import type { Series, Side } from './bench.ts';
import { rounded } from './statistics.ts';

/** One that is measured beside others: a floor, a peer, or ours. */
export type Contender = {
  readonly name: string;
  readonly side?: Side;
  /** What one round of it comes to, by what is measured: `/s`, `ms at p95`. */
  measure(): Promise<Readonly<Record<string, number>>>;
};

/**
 * Measures all of them in every round, each time in another order, so that none is always first, or always after the same one,
 * and what the machine does beside falls on all alike.
 */
export async function inRounds(
  contenders: readonly Contender[],
  rounds: number,
  say: (line: string) => void,
): Promise<Series[]> {
  const series = new Map<string, Series & { rounds: number[] }>();
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of inOrderOf(round, contenders)) {
      const measured = await contender.measure();
      for (const [unit, value] of Object.entries(measured)) {
        const name = seriesOf(contender.name, unit);
        const known = series.get(name) ?? { name, side: contender.side ?? 'ours', unit, rounds: [] };
        known.rounds.push(value);
        series.set(name, known);
      }
      const said = Object.entries(measured).map(([unit, value]) => `${rounded(value)} ${unit}`);
      say(`round ${round + 1}: ${contender.name}: ${said.join(', ')}`);
    }
  }
  return [...series.values()];
}

/** Each is the first one in turn, and every other round goes backwards from there. */
function inOrderOf<Each>(round: number, all: readonly Each[]): Each[] {
  const turn = round % all.length;
  const order = [...all.slice(turn), ...all.slice(0, turn)];
  return round % 2 === 0 ? order : [...order.slice(0, 1), ...order.slice(1).reverse()];
}

/** The name of what one contender came to in one unit. */
export function seriesOf(contender: string, unit: string): string {
  return `${contender}, ${unit}`;
}
