import type { DateText, Id, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './pages.ts';
import type { Send } from './transport.ts';

/** Attempts of one hook in one hour. */
export type Hour = {
  /** The hook. */
  readonly hook_id: string;
  /** When the hour begins, UTC. */
  readonly hour: DateText;
  /** Attempts that were answered with 200. */
  readonly delivered: string;
  /** Attempts that failed; faults of our own are neither. */
  readonly failed: string;
  /** How long they took on average. */
  readonly milliseconds: string;
};

/** Whose hours, and of which hook. */
export type HourFilters = Window & Optional<{ hook_id: Id; user_id: Id }>;

/** The last 24 hours of each hook, ordered by hook and hour; those without an attempt, too. */
export type Hours = Lists<Hour, HourFilters>;

/** Hours at `/hours`. */
export function hours(send: Send): Hours {
  return lists<Hour, HourFilters>(send, 'hours', 'hook_id', 'hour');
}
