import type { DateText } from './api-types.ts';
import { recordOf } from './response-body.ts';
import type { CallOptions, Send } from './transport.ts';

/** Attempts of one minute. */
export type Minute = { readonly minute: DateText; readonly delivered: string; readonly failed: string };

/** How deliveries go at this moment: the account's for admins, else the caller's own. */
export type Overview = {
  /** Deliveries that are pending for live hooks, of the 10000 lowest of those that are pending any. */
  readonly pending: string;
  /** When the oldest of them became pending, UTC. */
  readonly oldest_pending_at: DateText;
  /** Live hooks between a failure and the next 200. */
  readonly hooks_failing: string;
  /** Live hooks. */
  readonly hooks_live: string;
  /** Hooks that have ended since 00:00 UTC. */
  readonly hooks_ended_today: string;
  /** Attempts of this minute and the 59 before it that were answered with 200. */
  readonly delivered_last_hour: string;
  /** Those that failed; faults of our own are neither. */
  readonly failed_last_hour: string;
  /** Of the attempts of the last hour, milliseconds. */
  readonly p50_ms: string;
  /** 95 of 100 took no longer. */
  readonly p95_ms: string;
  /** From when on attempts were counted: an hour ago, or later where there were very many. */
  readonly attempts_since: DateText;
  /** The last 60, oldest first; fewer where `attempts_since` is later. */
  readonly minutes: readonly Minute[];
};

/** How deliveries go at this moment. */
export type OverviewNow = (options?: CallOptions) => Promise<Overview>;

/** The overview at `/overview`. */
export function overview(send: Send): OverviewNow {
  return async (options) => recordOf(await send({ ...options, method: 'GET', path: ['overview'] }));
}
