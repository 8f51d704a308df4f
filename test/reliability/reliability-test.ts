import type { Cleanup } from '../kit/cleanup.ts';
import type { TestStore } from '../kit/service/stores.ts';

/** A promise that is checked over many runs, with counters of what happened and what was violated. */
export type ReliabilityTest = {
  /** Id of the row in `docs/reliability.md`, such as `R1`. */
  readonly id: string;
  /** Name on the command line, as in `npm run prove -- kills`. */
  readonly name: string;
  /** A phrase that describes what the test does. */
  readonly title: string;
  /** A phrase that describes what must hold. */
  readonly promise: string;
  /** Unit of `count`, such as `kills` or `seconds of overload`. */
  readonly unit: string;
  /** Count of the quick run (`npm run prove -- --quick`); undefined if it needs more than Node and npm. */
  readonly quick: number | undefined;
  /** Whether the quick run is made on both databases; by default, it is made on SQLite. */
  readonly isQuickOnBoth?: true;
  /** Count of the full run of `npm run prove`. */
  readonly full: number;
  /** Returns a sentence that names what this machine lacks for the test, or undefined if it lacks nothing. */
  readonly lacks?: () => string | undefined;
  /** Reason for a promise that does not hold, and what would help. */
  readonly heldBack?: string;
  readonly execute: (run: RunParameters) => Promise<RunResult>;
};

/** Parameters of one run. */
export type RunParameters = {
  readonly count: number;
  /** Source of all randomness: the same seed repeats the run, as far as a real machine can. */
  readonly seed: number;
  /** Databases to run on. */
  readonly stores: readonly TestStore[];
  /** Closes everything that the run has opened, at its end. */
  readonly context: Cleanup;
  /** Prints progress. */
  readonly log: (line: string) => void;
};

/** Result of a run. */
export type RunResult = {
  /** Counters by name (`acknowledged and lost`), in the order of display. */
  readonly counts: Readonly<Record<string, number | string>>;
  /** Descriptions of the violations; empty if the promise holds. */
  readonly broken: readonly string[];
};
