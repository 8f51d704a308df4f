import type { DateText, Flag, Id, Kind, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './pages.ts';
import { type Gets, gets } from './resource.ts';
import { recordOf } from './response-body.ts';
import type { OnceOptions, Send } from './transport.ts';

/**
 * `pending`: to be sent, or to be sent again. The others are settled: answered with 200; left over when its hook ended;
 * sent once without its outcome counting, and not answered with 200. X3.
 */
export type DeliveryState = 'pending' | 'delivered' | 'undelivered' | 'failed';

/** One occurrence pending for one hook, as it is read. X3. */
export type Delivery = {
  /** Also the notification's `Webhook-Id`, the same in every attempt. */
  readonly id: string;
  /** The hook it is pending for. */
  readonly hook_id: string;
  /** The kind of occurrence, or test. */
  readonly event: Kind | 'test';
  /** The address that is told. */
  readonly resource_url: string;
  /** pending; delivered; undelivered: the hook ended before; failed: a test that was not answered with 200. */
  readonly state: DeliveryState;
  /** When it became pending, UTC. */
  readonly date_created: DateText;
  /** When it was delivered or given up, UTC. */
  readonly date_finalized: DateText;
  /** What the last attempt came to. Empty before the first. */
  readonly last_outcome: string;
};

/** One POST of a delivery. X3. */
export type Attempt = {
  /** When it began, UTC. */
  readonly attempted_at: DateText;
  /** The status that was answered, or one word for what went wrong. */
  readonly outcome: string;
  /** How long it took. */
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
    /** The hook it is pending for. */
    hook_id: Id;
    /** pending; delivered; undelivered: the hook ended before; failed: a test that was not answered with 200. */
    state: DeliveryState;
    /** Whose deliveries; another than the caller is for admins. */
    user_id: Id;
  }>;

/** Deliveries of the last 30 days. X3. */
export interface Deliveries extends Lists<Delivery, DeliveryFilters>, Gets<DeliveryDetail> {
  /** Sends a delivery again, with the same `Webhook-Id`, not counted. Errors: `not_found`, `hook_ended`. */
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
