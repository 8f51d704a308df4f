import type { DateText, Id, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './resource-methods.ts';
import { recordOf } from './response-body.ts';
import type { CallOptions, Send } from './transport.ts';

/** Attempts of one minute. */
export type Minute = { readonly minute: DateText; readonly delivered: string; readonly failed: string };

/** Current state of deliveries: of the account for admins, otherwise the caller's own. */
export type Overview = {
  /** Pending deliveries of live hooks; counts at most the 10,000 hooks with the lowest ids that have any. */
  readonly pending: string;
  /** When the oldest of them became pending, UTC. */
  readonly oldest_pending_at: DateText;
  /** Live hooks between a failure and the next 200. */
  readonly hooks_failing: string;
  /** Live hooks. */
  readonly hooks_live: string;
  /** Hooks that have ended since 00:00 UTC. */
  readonly hooks_ended_today: string;
  /** Attempts of the last 60 minutes with a response 200. */
  readonly delivered_last_hour: string;
  /** Failed attempts of the last 60 minutes; local errors of the service are not counted. */
  readonly failed_last_hour: string;
  /** Median duration of the attempts of the last hour, milliseconds. */
  readonly p50_ms: string;
  /** 95th percentile of their duration, milliseconds. */
  readonly p95_ms: string;
  /** Start of the counted period: an hour ago, or later if there were very many attempts. */
  readonly attempts_since: DateText;
  /** The last 60, oldest first; fewer where `attempts_since` is later. */
  readonly minutes: readonly Minute[];
};

/** Returns the current state of deliveries. */
export type OverviewNow = (options?: CallOptions) => Promise<Overview>;

/** The overview at `/overview`. */
export function overview(send: Send): OverviewNow {
  return async (options) => recordOf(await send({ ...options, method: 'GET', path: ['overview'] }));
}

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
