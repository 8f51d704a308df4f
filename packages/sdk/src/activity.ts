import type { DateText, FeedKind, Id, Optional } from './api-types.ts';
import type { DeliveryState } from './deliveries.ts';
import { fieldOf } from './response-body.ts';
import { type CallOptions, type Send, unexpected } from './transport.ts';

/** The delivery of an occurrence to one hook, and whether its user has fetched the record since. */
export type ToldHook = {
  /** The delivery. */
  readonly id: string;
  readonly hook_id: string;
  readonly target_url: string;
  readonly user_id: string;
  readonly state: DeliveryState;
  readonly last_outcome: string;
  /** Number of attempts. */
  readonly attempts: string;
  /** Duration of the last attempt. */
  readonly milliseconds: string;
  readonly created_at: DateText;
  readonly date_finalized: DateText;
  /** When a key of the hook's user last fetched the record after it became pending; `0000-00-00 00:00:00` for never. */
  readonly fetched_at: DateText;
};

/** An occurrence with its deliveries. */
export type Occurrence = {
  /** Its position in the account. */
  readonly cursor: string;
  /** The kind of occurrence. */
  readonly kind: FeedKind;
  /** The URL of the record, also of a deleted one. */
  readonly resource_url: string;
  /** The record. */
  readonly record_id: string;
  /** The user who caused it. */
  readonly user_id: string;
  /** When it happened, UTC. */
  readonly occurred_at: DateText;
  /** Its delivery to each hook, for at most 1000 hooks. */
  readonly deliveries: readonly ToldHook[];
};

/** Filters of the activity, which is sorted newest first. */
export type ActivityFilters = Optional<{
  /** Occurrences before this cursor. */
  before: string;
  /** 1 to 200; default 50, larger values are treated as 200. */
  limit: number;
  /** Only this kind. */
  kind: FeedKind;
  /** Only occurrences with a delivery to this hook; requires access to the hook. */
  hook_id: Id;
  /** `account`: of all users, for admins; default `own`. */
  scope: 'own' | 'account';
}>;

/** A page of the activity, newest first. `next` is the `before` of the next page, empty at the end. */
export type ActivityStretch = { readonly data: readonly Occurrence[]; readonly next: string };

/** Occurrences and their deliveries. */
export interface Activity {
  /**
   * One page, newest first.
   *
   * @example
   * ```ts
   * const { data, next } = await console.activity.list({ limit: 20 });
   * const older = await console.activity.list({ limit: 20, before: next });
   * ```
   */
  list(filters?: ActivityFilters, options?: CallOptions): Promise<ActivityStretch>;
}

/** The activity at `/activity`. */
export function activity(send: Send): Activity {
  return {
    async list(filters = {}, options) {
      const { status, body } = await send({ ...options, method: 'GET', path: ['activity'], query: filters });
      if (!Array.isArray(fieldOf(body, 'data')) || typeof fieldOf(body, 'next') !== 'string') {
        throw unexpected(status, `The response (${status}) contains no activity.`);
      }
      return body as ActivityStretch;
    },
  };
}
