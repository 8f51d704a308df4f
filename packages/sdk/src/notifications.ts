import type { DateText, FeedKind, Id, Optional } from './api-types.ts';
import { type FollowOptions, followEvents } from './follow.ts';
import type { HookScope } from './hooks.ts';
import { fieldOf } from './response-body.ts';
import { type CallOptions, createUnexpectedResponseError, type OpenStream, type Send } from './transport.ts';

/** Time added to `wait` for the default timeout of a long poll, so that the response can still arrive. */
const LONG_POLL_MARGIN_MS = 15_000;

/** An entry of the feed: one occurrence (a domain event, such as a created task) (X2). */
export type FeedEntry = {
  /** Position of the entry in the account's feed. Compared as numbers, later entries have higher cursors. */
  readonly cursor: string;
  /** Event kind of the occurrence, such as `new_task`. */
  readonly kind: FeedKind;
  /** URL of the record, even if the record was deleted. */
  readonly resource_url: string;
  /** When the occurrence happened, UTC. */
  readonly occurred_at: DateText;
  /** The user who caused the occurrence. */
  readonly user_id: string;
  /** The project of the record, or the project itself; `"0"` for none. */
  readonly project_id: string;
  /** The project that the record left with this change; `"0"` for none. */
  readonly previous_project_id: string;
  /** Names of the changed fields, for kinds that begin with `changed_`; otherwise empty. */
  readonly fields: readonly string[];
};

/** Position and filters for reading the feed (X2). */
export type FeedFilters = Optional<{
  /** Cursor to continue after; `latest` for new entries only. Default: start at the oldest stored entry. */
  after: string;
  /** Only entries of this event kind, or of these kinds. */
  kind: FeedKind | readonly FeedKind[];
  /** Only entries of this project and the records in it. */
  project_id: Id;
  /** Number of entries per page, 1 to 1000; default 1000, larger values are treated as 1000. */
  limit: number;
  /** Seconds to wait for new entries if there are none, at most 30. */
  wait: number;
  /**
   * `own`: entries of the caller, the default. `project`: entries of all users in the project `project_id`. `account`:
   * entries of all users, only for admins.
   */
  scope: HookScope;
}>;

/** Position and filters for following the feed (X2). */
export type FollowFilters = Omit<FeedFilters, 'limit' | 'wait'>;

/** A page of the feed. Store `next` even if `data` is empty: it is the cursor to continue after (X2). */
export type FeedPage = { readonly data: readonly FeedEntry[]; readonly next: string };

/** Methods for the feed: all occurrences of the last 90 days, in order and without gaps (X2). */
export interface Notifications {
  /**
   * Returns one page of the feed. Errors: `cursor_gone` if entries after the cursor are no longer stored,
   * `not_permitted`, `invalid_input`.
   *
   * @example
   * ```ts
   * const { data, next } = await carillon.notifications.list({ after: cursor, wait: 30 });
   * ```
   */
  list(filters?: FeedFilters, options?: CallOptions): Promise<FeedPage>;
  /**
   * Yields all entries after a cursor, and then each new entry as it occurs, until the signal is aborted or the loop is
   * left. Store the `cursor` of the last entry that you have processed, and pass it as `after` to continue there.
   *
   * Reconnects after a lost connection, with a backoff from one second to thirty. Errors: any error of the first
   * connection; after that, only `cursor_gone`, `unauthorized` and `not_permitted`.
   *
   * @example
   * ```ts
   * for await (const { kind, resource_url, cursor } of carillon.notifications.follow({ after: 'latest' })) {
   *   await processEntry(kind, resource_url);
   *   await saveCursor(cursor);
   * }
   * ```
   */
  follow(filters?: FollowFilters, options?: FollowOptions): AsyncGenerator<FeedEntry, void, undefined>;
}

/** Creates the methods for the feed at `/notifications`. */
export function createFeedMethods(send: Send, openStream: OpenStream): Notifications {
  return {
    follow: (query, options) => followEvents(openStream, { path: ['notifications'], query }, options),
    async list(filters = {}, options) {
      const { wait = 0 } = filters;
      const timeoutOptions = wait > 0 ? { timeoutMs: Math.min(wait, 30) * 1_000 + LONG_POLL_MARGIN_MS } : {};
      const call = { method: 'GET', path: ['notifications'], query: filters } as const;
      const { status, body } = await send({ ...timeoutOptions, ...options, ...call });
      if (!Array.isArray(fieldOf(body, 'data')) || typeof fieldOf(body, 'next') !== 'string') {
        throw createUnexpectedResponseError(status, `The response (${status}) contains no page of the feed.`);
      }
      return body as FeedPage;
    },
  };
}
