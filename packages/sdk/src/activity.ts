import type { DateText, FeedKind, Flag, HookScope, Id, Optional, PageWindow } from './api-types.ts';
import { buildGetMethod, buildListMethods, type GetMethod, type ListMethods } from './resource-methods.ts';
import { fieldOf, recordOf } from './response-body.ts';
import { type CallOptions, createUnexpectedResponseError, type PostOptions, type Send } from './transport.ts';

/** The delivery of an occurrence to one hook, with the time at which the hook's user fetched the record. */
export type ActivityDelivery = {
  /** Identifier of the delivery. */
  readonly id: string;
  readonly hook_id: string;
  readonly target_url: string;
  readonly user_id: string;
  readonly state: DeliveryState;
  readonly last_outcome: string;
  /** Number of attempts that were made so far. */
  readonly attempts: string;
  /** Duration of the last attempt, in milliseconds. */
  readonly milliseconds: string;
  readonly created_at: DateText;
  readonly date_finalized: DateText;
  /**
   * When the hook's user last fetched the record with an API key, UTC. Only fetches after the delivery became pending
   * count; `0000-00-00 00:00:00` for none.
   */
  readonly fetched_at: DateText;
};

/** An occurrence (a domain event, such as a created task) with its deliveries. */
export type Occurrence = {
  /** Position of the occurrence in the account's feed. */
  readonly cursor: string;
  /** Event kind of the occurrence, such as `new_task`. */
  readonly kind: FeedKind;
  /** URL of the record, even if the record was deleted. */
  readonly resource_url: string;
  /** Identifier of the record. */
  readonly record_id: string;
  /** The user who caused the occurrence. */
  readonly user_id: string;
  /** The project of the record, or the project itself; `"0"` for none. */
  readonly project_id: string;
  /** The project that the record left with this change; `"0"` for none. */
  readonly previous_project_id: string;
  /** Names of the changed fields, for kinds that begin with `changed_`; otherwise empty. */
  readonly fields: readonly string[];
  /** When the occurrence happened, UTC. */
  readonly occurred_at: DateText;
  /** Deliveries of the occurrence to hooks, for at most 1000 hooks. */
  readonly deliveries: readonly ActivityDelivery[];
};

/** Filters of the activity. The activity is sorted newest first. */
export type ActivityFilters = Optional<{
  /** Only occurrences before this position in the feed. */
  before: string;
  /** Occurrences per page, 1 to 200; default 50, larger values are treated as 200. */
  limit: number;
  /** Only occurrences of this event kind, or of these kinds. */
  kind: FeedKind | readonly FeedKind[];
  /** Only occurrences of this project and the records in it. */
  project_id: Id;
  /** Only occurrences with a delivery to this hook; requires access to the hook. */
  hook_id: Id;
  /**
   * `own`: occurrences of the caller, the default. `project`: occurrences of all users in the project `project_id`.
   * `account`: occurrences of all users, only for admins.
   */
  scope: HookScope;
}>;

/** A page of the activity, newest first. Pass `next` as `before` to get the next page; it is empty on the last page. */
export type ActivityPage = { readonly data: readonly Occurrence[]; readonly next: string };

/** Methods for the activity: occurrences with their deliveries. */
export interface Activity {
  /**
   * Returns one page of the activity, newest first.
   *
   * @example
   * ```ts
   * const { data, next } = await console.activity.list({ limit: 20 });
   * const older = await console.activity.list({ limit: 20, before: next });
   * ```
   */
  list(filters?: ActivityFilters, options?: CallOptions): Promise<ActivityPage>;
}

/** Creates the methods for the activity at `/activity`. */
export function createActivityMethods(send: Send): Activity {
  return {
    async list(filters = {}, options) {
      const { status, body } = await send({ ...options, method: 'GET', path: ['activity'], query: filters });
      if (!Array.isArray(fieldOf(body, 'data')) || typeof fieldOf(body, 'next') !== 'string') {
        throw createUnexpectedResponseError(status, `The response (${status}) contains no activity.`);
      }
      return body as ActivityPage;
    },
  };
}

/**
 * State of a delivery (X3). `pending`: to be sent or retried. Final states: `delivered` (the response was 200),
 * `undelivered` (the hook ended before a response 200), `failed` (a test or redelivery got no response 200).
 */
export type DeliveryState = 'pending' | 'delivered' | 'undelivered' | 'failed';

/** The delivery of one occurrence to one hook (X3). */
export type Delivery = {
  /** Identifier of the delivery, and the `Webhook-Id` of its attempts. */
  readonly id: string;
  /** The hook that the delivery is for. */
  readonly hook_id: string;
  /** Event kind of the occurrence, such as `new_task`; `test` for a test of the hook. */
  readonly event: FeedKind | 'test';
  /** The `resource_url` in the body of the notification. */
  readonly resource_url: string;
  /** Position of the occurrence in the account's feed; `"0"` for a test of the hook. */
  readonly cursor: string;
  /** Whether the delivery is pending, or its final state. */
  readonly state: DeliveryState;
  /** When the delivery became pending, UTC. */
  readonly date_created: DateText;
  /** When the delivery reached its final state, UTC. */
  readonly date_finalized: DateText;
  /** Outcome of the last attempt: a status or a failure code; empty before the first attempt. */
  readonly last_outcome: string;
};

/** One attempt of a delivery, which is one POST to the target (X3). */
export type Attempt = {
  /** When the attempt began, UTC. */
  readonly attempted_at: DateText;
  /** Status of the response, or a failure code. */
  readonly outcome: string;
  /** Duration of the attempt, in milliseconds. */
  readonly milliseconds: string;
  /** Whether the outcome counted towards the failures of the hook (C19). */
  readonly counted: Flag;
  /** The reason why the outcome counted or did not count. */
  readonly reason: string;
  /** The first KiB of the response of a failed attempt; control characters are replaced. */
  readonly response: string;
};

/** A delivery with all its attempts (X3). */
export type DeliveryDetail = Delivery & { readonly attempts: readonly Attempt[] };

/** Filters of the list of deliveries. A delivery must match all of them (X3). */
export type DeliveryFilters = PageWindow &
  Optional<{
    /** Only deliveries for this hook. */
    hook_id: Id;
    /** Only deliveries in this state. */
    state: DeliveryState;
    /** Only deliveries for hooks of this user; only admins can see deliveries of other users. */
    user_id: Id;
  }>;

/** Methods for the deliveries of the last 30 days (X3). */
export interface Deliveries extends ListMethods<Delivery, DeliveryFilters>, GetMethod<DeliveryDetail> {
  /**
   * Sends a delivery again with the same `Webhook-Id`. The outcome does not count towards the failures of the hook.
   * Errors: `not_found`, `hook_ended`, `hook_disabled`.
   *
   * @example
   * ```ts
   * const { state } = await carillon.deliveries.redeliver('7');
   * ```
   */
  redeliver(id: Id, options?: PostOptions): Promise<Delivery>;
}

/** Creates the methods for deliveries at `/deliveries`. */
export function createDeliveryMethods(send: Send): Deliveries {
  return {
    ...buildListMethods<Delivery, DeliveryFilters>(send, 'deliveries', 'id'),
    ...buildGetMethod<DeliveryDetail>(send, 'deliveries'),
    redeliver: async (id, options) =>
      recordOf(await send({ ...options, method: 'POST', path: ['deliveries', id, 'redeliver'] })),
  };
}
