import type { DateText, Flag, Id, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './pages.ts';
import { deletes } from './resource.ts';
import type { ChangeOptions, Send } from './transport.ts';

/** A session of the console. */
export type Session = {
  /** Identifier of the session. */
  readonly id: string;
  /** The signed-in user. */
  readonly user_id: string;
  /** When they signed in, UTC. */
  readonly date_created: DateText;
  /** When it was last used, UTC, to the minute. */
  readonly last_used: DateText;
  /** When it expires unless it is used before. */
  readonly expires: DateText;
  /** A description of the browser. */
  readonly agent: string;
  /** The IP address of the sign-in. */
  readonly source: string;
  /** Whether it is the session of this request. */
  readonly current: Flag;
};

/** The user who is signed in. */
export type SignedIn = { readonly user_id: string };

/** Filters of the list of sessions. */
export type SessionFilters = Window &
  Optional<{
    /** Sessions of this user, for admins. */
    user_id: Id;
  }>;

/** Sessions, ordered by id: the caller's own, or for admins another user's. */
export interface Sessions extends Lists<Session, SessionFilters> {
  /**
   * Ends a session immediately. Errors: `not_found`, `not_permitted`.
   *
   * @example
   * ```ts
   * await console.sessions.end('7');
   * ```
   */
  end(id: Id, options?: ChangeOptions): Promise<void>;
}

/** Sessions at `/sessions`. */
export function sessions(send: Send): Sessions {
  return { ...lists<Session, SessionFilters>(send, 'sessions', 'id'), end: deletes(send, 'sessions').delete };
}
