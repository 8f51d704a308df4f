import type { Queries } from './store.ts';

/** What a database is like, found without changing anything: neither made nor brought up to date. */
export type Inspection = {
  /** The engine and its version. */
  readonly engine: string;
  /** Up to which migration it is, 0 for an empty one; and the newest that this Carillon knows. */
  readonly version: number;
  readonly newest: number;
  /** Settings by which it may lose what it has confirmed; empty for none. */
  readonly weak: readonly string[];
  /** What its own check finds wrong; empty for nothing, or where it has none. */
  readonly problems: readonly string[];
  readonly bytes: number;
  /** Room on its disk; undefined where that is another machine's. */
  readonly freeBytes: number | undefined;
  /** Why its place is no good one; empty for nothing. */
  readonly place: readonly string[];
  /** How far its clock is ahead of this machine's; undefined where it has none of its own. */
  readonly clockAheadMs: number | undefined;
  /** Whether a service runs on it at this moment. */
  readonly isServed: boolean;
  readonly queries: Queries;
  close(): Promise<void>;
};
