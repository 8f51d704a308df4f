import { type Creates, creates, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';
import type { DateText, Optional, Window } from './wire.ts';

/** What a user may do; admins and owners may also act for others. C2, C14. */
export type Role = 'member' | 'admin' | 'owner';

/** A user of the account as it is read. C35. */
export type User = {
  readonly user_id: string;
  readonly email: string;
  readonly first_name: string;
  readonly last_name: string;
  /** Both names. */
  readonly user_name: string;
  readonly role: Role;
  readonly date_created: DateText;
};

/** What a user is created from, by admins. C35. */
export type UserInput = { readonly email: string } & Optional<{
  first_name: string;
  last_name: string;
  /** Never above the caller's own. X7. */
  role: Role;
}>;

/** What can be changed of a user, by admins. C35. */
export type UserChanges = Optional<UserInput>;

/**
 * The users of the account, ordered by id. Writes are for admins. Deleting one revokes the keys, ends the hooks and
 * leaves the records (C23). Errors beside the common ones: `email_taken`, `last_owner`. C35.
 */
export type Users = Editable<User, UserChanges, Window> & Creates<User, UserInput>;

/** Users at `/users`. */
export function users(send: Send): Users {
  return { ...editable<User, UserChanges, Window>(send, 'users'), ...creates<User, UserInput>(send, 'users') };
}
