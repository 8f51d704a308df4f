import type { BenchEnvironment } from './environment.ts';

/**
 * The side of a comparison that a result belongs to: a floor (the least code that does the same work), a peer
 * (another product), or Carillon.
 */
export type ComparisonSide = 'floor' | 'peer' | 'ours';

/** The results of one contender in one unit, with one number for each round. */
export type ResultSeries = {
  readonly name: string;
  readonly side: ComparisonSide;
  readonly unit: string;
  readonly rounds: readonly number[];
};

/** A limit for the median of a series, or for its ratio to another series of the same rounds. */
export type PerformanceClaim = {
  readonly description: string;
  readonly of: string;
  /** The series by which the series `of` is divided, round by round. */
  readonly to?: string;
  readonly atLeast?: number;
  readonly atMost?: number;
};

/** The series that a row has measured, and the claims about them. */
export type RowMeasurements = {
  readonly series: readonly ResultSeries[];
  readonly claims: readonly PerformanceClaim[];
};

/** The settings with which a row is measured. */
export type RowSettings = {
  readonly stage: BenchEnvironment;
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
  readonly roundDescription?: string;
  measure(run: RowSettings): Promise<RowMeasurements>;
};
