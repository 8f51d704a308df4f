import type { DateText, Flag, Id, Optional, PageWindow } from './api-types.ts';
import {
  buildCreateMethod,
  buildDeleteMethod,
  buildEditableMethods,
  buildListMethods,
  type CreateMethod,
  type EditableMethods,
  type ListMethods,
} from './resource-methods.ts';
import { recordOf } from './response-body.ts';
import type { CallOptions, ChangeOptions, Send } from './transport.ts';

/** The account, which the API calls company (C35). */
export type Company = {
  /** Identifier of the account. */
  readonly company_id: string;
  /** Name of the company. */
  readonly company_name: string;
  /** Host name of the account, as sent in the header `domain`. */
  readonly domain: string;
  /** First line of the postal address. */
  readonly address1: string;
  /** Second line of the postal address. */
  readonly address2: string;
  /** City of the postal address. */
  readonly city: string;
  /** State or region of the postal address. */
  readonly state: string;
  /** Postcode of the postal address. */
  readonly postcode: string;
  /** Country of the postal address. */
  readonly country: string;
  /** Currency that the company uses. */
  readonly currency: string;
  /** Telephone number of the company. */
  readonly phone: string;
  /** When the account was created, UTC. */
  readonly date_created: DateText;
};

/** Methods for the account. */
export interface AccountMethods {
  /**
   * Returns the account that the key belongs to. Errors: `not_permitted` (C35).
   *
   * @example
   * ```ts
   * const { company_name } = await carillon.company.get();
   * ```
   */
  get(options?: CallOptions): Promise<Company>;
}

/** Creates the methods for the account at `/company`. */
export function createAccountMethods(send: Send): AccountMethods {
  return { get: async (options) => recordOf(await send({ ...options, method: 'GET', path: ['company'] })) };
}

/** Methods for the caller. */
export interface CallerMethods {
  /**
   * Returns the user that the key belongs to. Needs no permission (C2, C35).
   *
   * @example
   * ```ts
   * const { user_id, role } = await carillon.user.get();
   * ```
   */
  get(options?: CallOptions): Promise<User>;
}

/** Creates the methods for the caller at `/user`. */
export function createCallerMethods(send: Send): CallerMethods {
  return { get: async (options) => recordOf(await send({ ...options, method: 'GET', path: ['user'] })) };
}

/** Role of a user. Admins and owners may also act for other users (C2, C14). */
export type Role = 'member' | 'admin' | 'owner';

/** A user of the account (C35). */
export type User = {
  /** Identifier of the user. */
  readonly user_id: string;
  /** E-mail address; unique within the account. */
  readonly email: string;
  /** First name of the user. */
  readonly first_name: string;
  /** Last name of the user. */
  readonly last_name: string;
  /** First and last name of the user, joined. */
  readonly user_name: string;
  /** Role of the user: member, admin or owner. */
  readonly role: Role;
  /** When the user was added, UTC. */
  readonly date_created: DateText;
};

/** Input for creating a user, only for admins (C35). */
export type UserInput = Pick<User, 'email'> &
  Optional<
    Pick<User, 'first_name' | 'last_name'> & {
      /** Role of the user; at most the caller's own role (X7). */
      role: Role;
    }
  >;

/** Input for changing a user, only for admins (C35). */
export type UserChanges = Optional<UserInput>;

/**
 * Methods for the users of the account; lists are ordered by id. Only admins can change users. Deleting a user revokes
 * the user's keys and ends the user's hooks; the user's records stay (C23). Additional errors: `email_taken`,
 * `last_owner` (C35).
 */
export type Users = EditableMethods<User, UserChanges, PageWindow> & CreateMethod<User, UserInput>;

/** Creates the methods for users at `/users`. */
export function createUserMethods(send: Send): Users {
  return {
    ...buildEditableMethods<User, UserChanges, PageWindow>(send, 'users', 'user_id'),
    ...buildCreateMethod<User, UserInput>(send, 'users'),
  };
}

/** An invitation: a link with which a user can set a passphrase once. */
export type Invitation = {
  /** Identifier of the invitation. */
  readonly id: string;
  /** The invited user. */
  readonly user_id: string;
  /** The user who created the invitation; `0` if the command line or the first start of the service created it. */
  readonly made_by: string;
  /** When the invitation was created, UTC. */
  readonly date_created: DateText;
  /** When the invitation expires, UTC. */
  readonly expires: DateText;
};

/** A created invitation with its link, which is returned only once. */
export type IssuedInvitation = Invitation & { readonly link: string };

/** Input for creating an invitation. */
export type InvitationInput = { readonly user_id: Id };

/** Filters of the list of invitations. */
export type InvitationFilters = PageWindow & Optional<{ user_id: Id }>;

/** Methods for invitations that can still be used, only for admins; lists are ordered by id. */
export interface Invitations
  extends ListMethods<Invitation, InvitationFilters>,
    CreateMethod<IssuedInvitation, InvitationInput> {
  /**
   * Revokes an invitation. Errors: `not_found`, `not_permitted`.
   *
   * @example
   * ```ts
   * await console.invitations.withdraw('7');
   * ```
   */
  withdraw(id: Id, options?: ChangeOptions): Promise<void>;
}

/** Creates the methods for invitations at `/invitations`. */
export function createInvitationMethods(send: Send): Invitations {
  return {
    ...buildListMethods<Invitation, InvitationFilters>(send, 'invitations', 'id'),
    ...buildCreateMethod<IssuedInvitation, InvitationInput>(send, 'invitations'),
    withdraw: buildDeleteMethod(send, 'invitations').delete,
  };
}

/** Input for changing the caller's passphrase. */
export type PassphraseInput = {
  /** The current passphrase. */
  readonly current: string;
  /** The new passphrase: 12 to 256 characters, neither the e-mail address nor the domain. */
  readonly passphrase: string;
};

/** Methods for the caller's own passphrase. */
export interface PassphraseMethods {
  /**
   * Changes the passphrase and ends all other sessions of the user. Errors: `invalid_input` with the field,
   * `too_many_tries`.
   *
   * @example
   * ```ts
   * await console.passphrase.set({ current: passphrase, passphrase: newPassphrase });
   * ```
   */
  set(input: PassphraseInput, options?: CallOptions): Promise<SignedInUser>;
}

/** Creates the methods for the passphrase at `/passphrase`. */
export function createPassphraseMethods(send: Send): PassphraseMethods {
  return {
    set: async (input, options) =>
      recordOf(await send({ ...options, method: 'PUT', path: ['passphrase'], body: input })),
  };
}

/** A session of the console. */
export type Session = {
  /** Identifier of the session. */
  readonly id: string;
  /** The user who is signed in. */
  readonly user_id: string;
  /** When the user signed in, UTC. */
  readonly date_created: DateText;
  /** When the session was last used, UTC, with a resolution of one minute. */
  readonly last_used: DateText;
  /** When the session expires, UTC, unless it is used before. */
  readonly expires: DateText;
  /** Description of the browser. */
  readonly agent: string;
  /** IP address from which the user signed in. */
  readonly source: string;
  /** Whether this is the session of the current request. */
  readonly current: Flag;
};

/** The user who is signed in. */
export type SignedInUser = { readonly user_id: string };

/** Filters of the list of sessions. */
export type SessionFilters = PageWindow &
  Optional<{
    /** Only sessions of this user, for admins. */
    user_id: Id;
  }>;

/** Methods for sessions: the caller's own, or those of another user for admins. Lists are ordered by id. */
export interface Sessions extends ListMethods<Session, SessionFilters> {
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

/** Creates the methods for sessions at `/sessions`. */
export function createSessionMethods(send: Send): Sessions {
  return {
    ...buildListMethods<Session, SessionFilters>(send, 'sessions', 'id'),
    end: buildDeleteMethod(send, 'sessions').delete,
  };
}
