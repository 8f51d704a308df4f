import type { Cleanup } from '../kit/cleanup.ts';
import type { TestStore } from '../kit/stores.ts';

/** A promise that is counted: what is done so often, and what must not come of it once. */
export type ReliabilityTest = {
  /** Its row in `docs/reliability.md`: `R1`. */
  readonly id: string;
  /** What it is called beside that: `npm run prove -- kills`. */
  readonly name: string;
  /** One sentence: what is done. */
  readonly title: string;
  /** One sentence: what has to come of it. */
  readonly promise: string;
  /** What is counted: `kill -9 cycles`, or `calendar` where it is one. */
  readonly unit: string;
  /** How often within `npm test`; undefined where that takes more than Node and npm. */
  readonly smoke: number | undefined;
  /** How often by `npm run prove`. */
  readonly full: number;
  /** What this machine lacks for it, in words for the reader; undefined when nothing is. */
  readonly lacks?: () => string | undefined;
  /** What holds back a promise that is not kept, and what would keep it. */
  readonly heldBack?: string;
  readonly execute: (run: Run) => Promise<RunResult>;
};

/** One run of a proof. */
export type Run = {
  readonly count: number;
  /** Where all chance comes from: the same seed, the same run, as far as a real machine can promise it. */
  readonly seed: number;
  /** The databases that it is to be shown on. */
  readonly stores: readonly TestStore[];
  /** Whatever is opened is closed behind it. */
  readonly context: Cleanup;
  /** A line on how far it is. */
  readonly log: (line: string) => void;
};

/** What a run came to. */
export type RunResult = {
  /** What was counted, by what it is called: `acknowledged and lost`. In the order in which it is shown. */
  readonly counts: Readonly<Record<string, number | string>>;
  /** What does not hold, a line each; none is the promise kept. */
  readonly broken: readonly string[];
};
