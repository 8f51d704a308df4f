import { type Lists, lists } from './resource.ts';
import type { Send } from './transport.ts';
import type { DateText, Id, Optional, Window } from './wire.ts';

/** Attempts of one hook in one hour. */
export type Hour = {
  readonly hook_id: string;
  readonly hour: DateText;
  readonly delivered: string;
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
  return lists<Hour, HourFilters>(send, 'hours');
}
