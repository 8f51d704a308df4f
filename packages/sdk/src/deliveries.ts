import type { DateText, Flag, Id, Kind, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './pages.ts';
import { type Gets, gets } from './resource.ts';
import { recordOf } from './response-body.ts';
import type { OnceOptions, Send } from './transport.ts';

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
