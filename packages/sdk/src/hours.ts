import type { DateText, Id, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './pages.ts';
import type { Send } from './transport.ts';

/** Attempts of one hook in one hour. */
export type Hour = {
  /** The hook. */
  readonly hook_id: string;
  /** When the hour begins, UTC. */
  readonly hour: DateText;
  /** Attempts with a response 200. */
  readonly delivered: string;
  /** Failed attempts; local errors of the service are not counted. */
  readonly failed: string;
  /** Average duration. */
  readonly milliseconds: string;
};

/** Filters by user and hook. */
export type HourFilters = Window & Optional<{ hook_id: Id; user_id: Id }>;

/** The last 24 hours of each hook, ordered by hook and hour, including hours without an attempt. */
export type Hours = Lists<Hour, HourFilters>;

/** Hours at `/hours`. */
export function hours(send: Send): Hours {
  return lists<Hour, HourFilters>(send, 'hours', 'hook_id', 'hour');
}
