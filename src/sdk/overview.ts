import { recordOf } from './resource.ts';
import type { CallOptions, Send } from './transport.ts';
import type { DateText } from './wire.ts';

/** Attempts of one minute. */
export type Minute = { readonly minute: DateText; readonly delivered: string; readonly failed: string };

/** How deliveries go at this moment: the account's for admins, else the caller's own. */
export type Overview = {
  readonly owed: string;
  readonly oldest_owed_at: DateText;
  readonly lanes_failing: string;
  readonly hooks_live: string;
  readonly hooks_ended_today: string;
  readonly delivered_last_hour: string;
  readonly failed_last_hour: string;
  /** Of the attempts of the last hour, milliseconds. */
  readonly p50_ms: string;
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
