import type { DateText, FeedKind, Id, Optional } from './api-types.ts';
import type { DeliveryState } from './deliveries.ts';
import { fieldOf } from './response-body.ts';
import { type CallOptions, type Send, unexpected } from './transport.ts';

/** What one hook was told of an occurrence, and whether its user has fetched the record since. */
export type ToldHook = {
  /** The delivery. */
  readonly id: string;
  readonly hook_id: string;
  readonly target_url: string;
  readonly user_id: string;
  readonly state: DeliveryState;
  readonly last_outcome: string;
  /** How many attempts there were. */
  readonly attempts: string;
  /** How long the last of them took. */
  readonly milliseconds: string;
  readonly created_at: DateText;
  readonly date_finalized: DateText;
  /** When a key of the hook's user last fetched the record after it became pending; the zero moment if never. */
  readonly fetched_at: DateText;
};

/** An occurrence with what came of it. */
export type Occurrence = {
  /** Its place in the account. */
  readonly cursor: string;
  /** What happened. */
  readonly kind: FeedKind;
  /** The address of the record; of a deleted one, where it was. */
  readonly resource_url: string;
  /** The record. */
  readonly record_id: string;
  /** Who caused it. */
  readonly user_id: string;
  /** When it happened, UTC. */
  readonly occurred_at: DateText;
  /** What came of it at each hook it was pending for; of an occurrence that more than 1000 hooks are told of, at as many. */
  readonly deliveries: readonly ToldHook[];
};

/** Which occurrences, newest first. */
export type ActivityFilters = Optional<{
  /** Those before this cursor. */
  before: string;
  /** 1 to 200; default 50, more is taken as 200. */
  limit: number;
  /** Of this kind alone. */
  kind: FeedKind;
  /** What this hook was pending alone; whoever may see the hook may see that. */
  hook_id: Id;
  /** `account`: of everybody, for admins; default `own`. */
  scope: 'own' | 'account';
}>;

/** A stretch of the activity, newest first; `next` is the cursor before which older ones lie, empty at the end. */
export type ActivityStretch = { readonly data: readonly Occurrence[]; readonly next: string };

/** What happened, and what came of it. */
export interface Activity {
  list(filters?: ActivityFilters, options?: CallOptions): Promise<ActivityStretch>;
}

/** The activity at `/activity`. */
export function activity(send: Send): Activity {
  return {
    async list(filters = {}, options) {
      const { status, body } = await send({ ...options, method: 'GET', path: ['activity'], query: filters });
      if (!Array.isArray(fieldOf(body, 'data')) || typeof fieldOf(body, 'next') !== 'string') {
        throw unexpected(status, `The answer is ${status} and holds no activity.`);
      }
      return body as ActivityStretch;
    },
  };
}
