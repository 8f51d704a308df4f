import type { Stage } from './environment.ts';

/**
 * The side of a comparison that a result belongs to: a floor (the least code that does the same work), a peer
 * (another product), or Carillon.
 */
export type Side = 'floor' | 'peer' | 'ours';

/** The results of one contender in one unit, with one number for each round. */
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
  /** The series by which the series `of` is divided, round by round. */
  readonly to?: string;
  readonly atLeast?: number;
  readonly atMost?: number;
};

/** The series that a row has measured, and the claims about them. */
export type Measured = {
  readonly series: readonly Series[];
  readonly claims: readonly Claim[];
};

/** The settings with which a row is measured. */
export type Run = {
  readonly stage: Stage;
  readonly rounds: number;
  readonly roundMs: number;
  /** True for a run of a few seconds that only detects regressions. */
  readonly isQuick: boolean;
  readonly say: (line: string) => void;
};

/** A row of the performance table. */
export type Bench = {
  /** The id, such as `P1`. Both the id and the name select the row on the command line. */
  readonly id: string;
  readonly name: string;
  readonly title: string;
  /** The limits of the claims of the row, in words. */
  readonly target: string;
  /** The reason why a claim is missed, in one sentence. */
  readonly heldBack?: string;
  /** Describes a round whose length differs from `roundMs`. */
  readonly aRound?: string;
  measure(run: Run): Promise<Measured>;
};
