import type { DateText, FeedKind, Optional } from './api-types.ts';
import { type FollowOptions, followEvents } from './follow.ts';
import { fieldOf } from './response-body.ts';
import { type CallOptions, type Open, type Send, unexpected } from './transport.ts';

/** How much longer than it waits a call may take, in milliseconds, when nothing else is said. */
const MARGIN_MS = 15_000;

/** Something that happened, as the feed shows it. X2. */
export type Notification = {
  /** Its place in the account; a later one is higher, as a number. */
  readonly cursor: string;
  /** What happened. */
  readonly kind: FeedKind;
  /** The address of the record; of a deleted one, where it was. */
  readonly resource_url: string;
  /** When it happened, UTC. */
  readonly occurred_at: DateText;
  /** Who caused it. */
  readonly user_id: string;
};

/** Where the feed is read from, and what of it. X2. */
export type NotificationFilters = Optional<{
  /** The cursor behind which to go on; `latest`: behind all that there is; left out: from the oldest that is kept. */
  after: string;
  /** Of this kind alone. */
  kind: FeedKind;
  /** Entries in one answer, 1 to 1000; default 1000, more is taken as 1000. */
  limit: number;
  /** Seconds to wait for something to happen when there is nothing; 30 at most. */
  wait: number;
  /** `account`: what anybody of the account did, for admins; default `own`. */
  scope: 'own' | 'account';
}>;

/** Where the feed is followed from, and what of it. X2. */
export type FollowFilters = Omit<NotificationFilters, 'limit' | 'wait'>;

/** A stretch of the feed, and the cursor to go on with: it is to be kept also when `data` is empty. X2. */
export type Stretch = { readonly data: readonly Notification[]; readonly next: string };

/** The feed: everything that happened, in order and without a gap, for 90 days. X2. */
export interface Notifications {
  /** Errors: `cursor_gone` when what came after the cursor is not kept any more, `not_permitted`, `invalid_input`. */
  list(filters?: NotificationFilters, options?: CallOptions): Promise<Stretch>;
  /**
   * Every entry behind a cursor, and then each as soon as it happens, until the signal is aborted or the loop is left.
   * Keep the `cursor` of what you have dealt with: given as `after`, it goes on there.
   *
   * A connection that is lost is opened again behind the last entry, after a wait that grows from one second to thirty.
   * Errors: whatever the first connection fails with; later `cursor_gone`, `unauthorized` and `not_permitted`.
   */
  follow(filters?: FollowFilters, options?: FollowOptions): AsyncGenerator<Notification, void, undefined>;
}

/** The feed at `/notifications`. */
export function notifications(send: Send, open: Open): Notifications {
  return {
    follow: (query, options) => followEvents(open, { path: ['notifications'], query }, options),
    async list(filters = {}, options) {
      const { wait = 0 } = filters;
      const timeout = wait > 0 ? { timeoutMs: Math.min(wait, 30) * 1_000 + MARGIN_MS } : {};
      const call = { method: 'GET', path: ['notifications'], query: filters } as const;
      const { status, body } = await send({ ...timeout, ...options, ...call });
      if (!Array.isArray(fieldOf(body, 'data')) || typeof fieldOf(body, 'next') !== 'string') {
        throw unexpected(status, `The answer is ${status} and holds no stretch of the feed.`);
      }
      return body as Stretch;
    },
  };
}
