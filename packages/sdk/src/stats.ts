import type { DateText, Id, Optional, PageWindow } from './api-types.ts';
import { buildListMethods, type ListMethods } from './resource-methods.ts';
import { recordOf } from './response-body.ts';
import type { CallOptions, Send } from './transport.ts';

/** Numbers of delivered and failed attempts in one minute. */
export type MinuteCounts = { readonly minute: DateText; readonly delivered: string; readonly failed: string };

/** Current state of deliveries: of the whole account for admins, otherwise of the caller. */
export type Overview = {
  /**
   * Number of pending deliveries of live hooks. Only the 10,000 hooks with the lowest ids that have pending deliveries
   * are counted.
   */
  readonly pending: string;
  /** When the oldest pending delivery became pending, UTC. */
  readonly oldest_pending_at: DateText;
  /** Number of live hooks between a failure and the next 200. */
  readonly hooks_failing: string;
  /** Number of live hooks. */
  readonly hooks_live: string;
  /** Number of hooks that have ended since 00:00 UTC. */
  readonly hooks_ended_today: string;
  /** Number of attempts with a response 200 in the last 60 minutes. */
  readonly delivered_last_hour: string;
  /** Number of failed attempts in the last 60 minutes. Local errors of the service are not counted. */
  readonly failed_last_hour: string;
  /** Median duration of the attempts of the last hour, in milliseconds. */
  readonly p50_ms: string;
  /** 95th percentile of the duration of the attempts of the last hour, in milliseconds. */
  readonly p95_ms: string;
  /** Start of the counted period: an hour ago, or later if there were too many attempts to count. */
  readonly attempts_since: DateText;
  /** The last 60 minutes, oldest first. There are fewer if `attempts_since` is later. */
  readonly minutes: readonly MinuteCounts[];
};

/** Returns the current state of deliveries. */
export type GetOverview = (options?: CallOptions) => Promise<Overview>;

/** Creates the method for the overview at `/overview`. */
export function createOverviewMethod(send: Send): GetOverview {
  return async (options) => recordOf(await send({ ...options, method: 'GET', path: ['overview'] }));
}

/** Numbers of delivered and failed attempts of one hook in one hour. */
export type HourCounts = {
  /** Identifier of the hook. */
  readonly hook_id: string;
  /** Start of the hour, UTC. */
  readonly hour: DateText;
  /** Number of attempts with a response 200. */
  readonly delivered: string;
  /** Number of failed attempts. Local errors of the service are not counted. */
  readonly failed: string;
  /** Average duration of the attempts, in milliseconds. */
  readonly milliseconds: string;
};

/** Filters of the list of hours, by user and by hook. */
export type HourFilters = PageWindow & Optional<{ hook_id: Id; user_id: Id }>;

/** The last 24 hours of each hook, ordered by hook and hour, including hours without an attempt. */
export type Hours = ListMethods<HourCounts, HourFilters>;

/** Creates the methods for hours at `/hours`. */
export function createHourMethods(send: Send): Hours {
  return buildListMethods<HourCounts, HourFilters>(send, 'hours', 'hook_id', 'hour');
}
