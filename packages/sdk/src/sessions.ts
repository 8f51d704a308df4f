import type { DateText, Flag, Id, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './pages.ts';
import { deletes } from './resource.ts';
import type { ChangeOptions, Send } from './transport.ts';

/** A browser that is signed in. */
export type Session = {
  /** Identifier of the session. */
  readonly id: string;
  /** Who is signed in. */
  readonly user_id: string;
  /** When they signed in, UTC. */
  readonly date_created: DateText;
  /** When it was last used, UTC, to the minute. */
  readonly last_used: DateText;
  /** When it ends by itself unless it is used before. */
  readonly expires: DateText;
  /** The browser, in words. */
  readonly agent: string;
  /** The address they signed in from. */
  readonly source: string;
  /** It is the one that asks. */
  readonly current: Flag;
};

/** Who is signed in. */
export type SignedIn = { readonly user_id: string };

/** Filters of the list of sessions. */
export type SessionFilters = Window &
  Optional<{
    /** Whose; for admins. */
    user_id: Id;
  }>;

/** Sessions, ordered by id: one's own, or for admins another user's. */
export interface Sessions extends Lists<Session, SessionFilters> {
  /** Ends one at once. Errors: `not_found`, `not_permitted`. */
  end(id: Id, options?: ChangeOptions): Promise<void>;
}

/** Sessions at `/sessions`. */
export function sessions(send: Send): Sessions {
  return { ...lists<Session, SessionFilters>(send, 'sessions', 'id'), end: deletes(send, 'sessions').delete };
}
