import type { DateText, FeedKind, Flag, Id, Kind, Optional, Window } from './api-types.ts';
import { type Gets, gets, type Lists, lists } from './resource-methods.ts';
import { fieldOf, recordOf } from './response-body.ts';
import { type CallOptions, type OnceOptions, type Send, unexpectedResponse } from './transport.ts';

/** The delivery of an occurrence to one hook, and whether its user has fetched the record since. */
export type HookDelivery = {
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
  readonly deliveries: readonly HookDelivery[];
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
export type ActivityPage = { readonly data: readonly Occurrence[]; readonly next: string };

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
  list(filters?: ActivityFilters, options?: CallOptions): Promise<ActivityPage>;
}

/** The activity at `/activity`. */
export function activity(send: Send): Activity {
  return {
    async list(filters = {}, options) {
      const { status, body } = await send({ ...options, method: 'GET', path: ['activity'], query: filters });
      if (!Array.isArray(fieldOf(body, 'data')) || typeof fieldOf(body, 'next') !== 'string') {
        throw unexpectedResponse(status, `The response (${status}) contains no activity.`);
      }
      return body as ActivityPage;
    },
  };
}

/**
 * `pending`: to be sent or retried. Final states: `delivered` (response 200), `undelivered` (its hook ended before),
 * `failed` (a test or redelivery without a response 200). X3.
 */
export type DeliveryState = 'pending' | 'delivered' | 'undelivered' | 'failed';

/** The delivery of one occurrence to one hook. X3. */
export type Delivery = {
  /** Also the `Webhook-Id` of every attempt. */
  readonly id: string;
  /** The hook it is pending for. */
  readonly hook_id: string;
  /** The kind of occurrence, or test. */
  readonly event: Kind | 'test';
  /** The `resource_url` that is sent. */
  readonly resource_url: string;
  /** Its state. */
  readonly state: DeliveryState;
  /** When it became pending, UTC. */
  readonly date_created: DateText;
  /** When it reached its final state, UTC. */
  readonly date_finalized: DateText;
  /** Outcome of the last attempt; empty before the first. */
  readonly last_outcome: string;
};

/** One POST of a delivery. X3. */
export type Attempt = {
  /** When it began, UTC. */
  readonly attempted_at: DateText;
  /** The status of the response, or a failure code. */
  readonly outcome: string;
  /** Duration. */
  readonly milliseconds: string;
  /** Whether the outcome counted for the hook's failures. C19. */
  readonly counted: Flag;
  /** Why it counted or did not. */
  readonly reason: string;
};

/** A delivery with its history. X3. */
export type DeliveryDetail = Delivery & { readonly attempts: readonly Attempt[] };

/** Filters of the list of deliveries; a delivery must match all of them. X3. */
export type DeliveryFilters = Window &
  Optional<{
    /** The hook it is pending for. */
    hook_id: Id;
    /** In this state. */
    state: DeliveryState;
    /** Deliveries of this user; only admins can see those of others. */
    user_id: Id;
  }>;

/** Deliveries of the last 30 days. X3. */
export interface Deliveries extends Lists<Delivery, DeliveryFilters>, Gets<DeliveryDetail> {
  /**
   * Sends a delivery again with the same `Webhook-Id`; its outcome does not count for the hook. Errors: `not_found`,
   * `hook_ended`.
   *
   * @example
   * ```ts
   * const { state } = await carillon.deliveries.redeliver('7');
   * ```
   */
  redeliver(id: Id, options?: OnceOptions): Promise<Delivery>;
}

/** Deliveries at `/deliveries`. */
export function deliveries(send: Send): Deliveries {
  return {
    ...lists<Delivery, DeliveryFilters>(send, 'deliveries', 'id'),
    ...gets<DeliveryDetail>(send, 'deliveries'),
    redeliver: async (id, options) =>
      recordOf(await send({ ...options, method: 'POST', path: ['deliveries', id, 'redeliver'] })),
  };
}
