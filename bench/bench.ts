import type { Stage } from './stage.ts';

/** Whose a figure is: the least that could do the same, somebody else's who does it, or this service's. */
export type Side = 'floor' | 'peer' | 'ours';

/** What one contender came to in each round, in one unit. */
export type Series = {
  readonly name: string;
  readonly side: Side;
  readonly unit: string;
  readonly rounds: readonly number[];
};

/** What has to show, of a series as it is, or of how it compares with another one round by round; the median counts. */
export type Claim = {
  readonly says: string;
  readonly of: string;
  /** Beside this one, measured in the same rounds. */
  readonly to?: string;
  readonly atLeast?: number;
  readonly atMost?: number;
};

/** How one thing goes with another, over several series: latency against load, cost against size. */
export type Curve = {
  readonly title: string;
  /** What grows, and in what it is counted. */
  readonly along: string;
  readonly unit: string;
  readonly lines: readonly {
    readonly name: string;
    readonly points: readonly (readonly [at: number, series: string])[];
  }[];
};

/** What a row came to. */
export type Measured = {
  readonly series: readonly Series[];
  readonly claims: readonly Claim[];
  readonly curves?: readonly Curve[];
};

/** How long and how often is measured. */
export type Run = {
  readonly stage: Stage;
  readonly rounds: number;
  readonly roundMs: number;
  /** Whether it is to say within some seconds whether a change has made something worse, and no more. */
  readonly isQuick: boolean;
  readonly say: (line: string) => void;
};

/** A row of the table of performance. */
export type Bench = {
  /** `P1`; and the word by which it is run. */
  readonly id: string;
  readonly name: string;
  readonly title: string;
  /** What it must show, as it is read. */
  readonly target: string;
  /** Why a claim is missed, in a sentence or two. */
  readonly heldBack?: string;
  /** What one of its rounds is, where it does not go on for as long as the rounds of the others. */
  readonly aRound?: string;
  measure(run: Run): Promise<Measured>;
};
