import type { Stage } from './environment.ts';

/** Whose result it is: a floor's (the least code that does the same), a peer's, or Carillon's. */
export type Side = 'floor' | 'peer' | 'ours';

/** The results of one contender in one unit, by round. */
export type Series = {
  readonly name: string;
  readonly side: Side;
  readonly unit: string;
  readonly rounds: readonly number[];
};

/** A limit for the median of a series, or for its ratio to another series of the same rounds. */
export type Claim = {
  readonly description: string;
  readonly of: string;
  /** The series that it is divided by, round by round. */
  readonly to?: string;
  readonly atLeast?: number;
  readonly atMost?: number;
};

/** The results of a row. */
export type Measured = {
  readonly series: readonly Series[];
  readonly claims: readonly Claim[];
};

/** The number of rounds, and their length. */
export type Run = {
  readonly stage: Stage;
  readonly rounds: number;
  readonly roundMs: number;
  /** A run of seconds that only detects a regression. */
  readonly isQuick: boolean;
  readonly say: (line: string) => void;
};

/** A row of the performance table. */
export type Bench = {
  /** `P1`; `name` selects it on the command line as well. */
  readonly id: string;
  readonly name: string;
  readonly title: string;
  /** The limits of its claims, in words. */
  readonly target: string;
  /** Why a claim is missed, in one sentence. */
  readonly heldBack?: string;
  /** Describes a round that differs from `roundMs`. */
  readonly aRound?: string;
  measure(run: Run): Promise<Measured>;
};
