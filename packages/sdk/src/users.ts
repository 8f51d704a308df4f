import type { DateText, Optional, Window } from './api-types.ts';
import { type Creates, creates, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';

/** The role of a user; admins and owners may also act for others. C2, C14. */
export type Role = 'member' | 'admin' | 'owner';

/** A user of the account. C35. */
export type User = {
  /** Identifier of the user. */
  readonly user_id: string;
  /** E-mail address; unique in the account. */
  readonly email: string;
  /** First name. */
  readonly first_name: string;
  /** Last name. */
  readonly last_name: string;
  /** Both names. */
  readonly user_name: string;
  /** member, admin or owner. */
  readonly role: Role;
  /** When the user was added, UTC. */
  readonly date_created: DateText;
};

/** Input for creating a user, for admins. C35. */
export type UserInput = Pick<User, 'email'> &
  Optional<
    Pick<User, 'first_name' | 'last_name'> & {
      /** At most the caller's own role. X7. */
      role: Role;
    }
  >;

/** Input for changing a user, for admins. C35. */
export type UserChanges = Optional<UserInput>;

/**
 * The users of the account, ordered by id. Only admins can change them. Deleting a user revokes their keys,
 * ends their hooks and keeps their records (C23). Additional errors: `email_taken`, `last_owner`. C35.
 */
export type Users = Editable<User, UserChanges, Window> & Creates<User, UserInput>;

/** Users at `/users`. */
export function users(send: Send): Users {
  return {
    ...editable<User, UserChanges, Window>(send, 'users', 'user_id'),
    ...creates<User, UserInput>(send, 'users'),
  };
}
