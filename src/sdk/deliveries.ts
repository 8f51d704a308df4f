import { type Gets, gets, type Lists, lists, recordOf } from './resource.ts';
import type { CallOptions, Send } from './transport.ts';
import type { DateText, Flag, Id, Kind, Optional, Window } from './wire.ts';

/**
 * `owed`: to be sent, or to be sent again. The others are settled: answered with 200; left over when its hook ended;
 * sent once without its outcome counting, and not answered with 200. X3.
 */
export type DeliveryState = 'owed' | 'delivered' | 'undelivered' | 'failed';

/** One occurrence owed to one hook, as it is read. X3. */
export type Delivery = {
  /** Also the notification's `Webhook-Id`, the same in every attempt. */
  readonly id: string;
  readonly hook_id: string;
  readonly event: Kind | 'test';
  readonly resource_url: string;
  readonly state: DeliveryState;
  readonly date_created: DateText;
  readonly date_settled: DateText;
  readonly last_outcome: string;
};

/** One POST of a delivery. X3. */
export type Attempt = {
  readonly attempted_at: DateText;
  readonly outcome: string;
  readonly milliseconds: string;
  /** Whether the outcome counted for the hook's failures. C19. */
  readonly counted: Flag;
  /** Why it counted or did not. */
  readonly reason: string;
};

/** A delivery with its history. X3. */
export type DeliveryDetail = Delivery & { readonly attempts: readonly Attempt[] };

/** Filters of the list of deliveries, all of which must hold. X3. */
export type DeliveryFilters = Window &
  Optional<{
    hook_id: Id;
    state: DeliveryState;
    /** Whose deliveries; another than the caller is for admins. */
    user_id: Id;
  }>;

/** Deliveries of the last 30 days. X3. */
export interface Deliveries extends Lists<Delivery, DeliveryFilters>, Gets<DeliveryDetail> {
  /** Sends a delivery again, with the same `Webhook-Id`, not counted. Errors: `not_found`, `hook_ended`. */
  redeliver(id: Id, options?: CallOptions): Promise<Delivery>;
}

/** Deliveries at `/deliveries`. */
export function deliveries(send: Send): Deliveries {
  return {
    ...lists<Delivery, DeliveryFilters>(send, 'deliveries'),
    ...gets<DeliveryDetail>(send, 'deliveries'),
    redeliver: async (id, options) =>
      recordOf(await send({ ...options, method: 'POST', path: ['deliveries', id, 'redeliver'] })),
  };
}
