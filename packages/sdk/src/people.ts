import type { DateText, Flag, Id, Optional, Window } from './api-types.ts';
import { type Creates, creates, deletes, type Editable, editable, type Lists, lists } from './resource-methods.ts';
import { recordOf } from './response-body.ts';
import type { CallOptions, ChangeOptions, Send } from './transport.ts';

/** The account as returned by the service. C35. */
export type Company = {
  /** Identifier of the company. */
  readonly company_id: string;
  /** Name of the company. */
  readonly company_name: string;
  /** The account's host name, as in the header domain. */
  readonly domain: string;
  /** Address, first line. */
  readonly address1: string;
  /** Address, second line. */
  readonly address2: string;
  /** City. */
  readonly city: string;
  /** State or region. */
  readonly state: string;
  /** Postcode. */
  readonly postcode: string;
  /** Country. */
  readonly country: string;
  /** Currency. */
  readonly currency: string;
  /** Telephone. */
  readonly phone: string;
  /** When the account was created, UTC. */
  readonly date_created: DateText;
};

/** The account. */
export interface Account {
  /**
   * The account that the key belongs to. Errors: `not_permitted`. C35.
   *
   * @example
   * ```ts
   * const { company_name } = await carillon.company.get();
   * ```
   */
  get(options?: CallOptions): Promise<Company>;
}

/** The account at `/company`. */
export function company(send: Send): Account {
  return { get: async (options) => recordOf(await send({ ...options, method: 'GET', path: ['company'] })) };
}

/** The caller. */
export interface Caller {
  /**
   * The user whose key is used. Needs no permission. C2, C35.
   *
   * @example
   * ```ts
   * const { user_id, role } = await carillon.user.get();
   * ```
   */
  get(options?: CallOptions): Promise<User>;
}

/** The caller at `/user`. */
export function user(send: Send): Caller {
  return { get: async (options) => recordOf(await send({ ...options, method: 'GET', path: ['user'] })) };
}

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

/** A link with which a user can set a passphrase once. */
export type Invitation = {
  /** Identifier of the link. */
  readonly id: string;
  /** The invited user. */
  readonly user_id: string;
  /** The user who created it; `0` for the command line and the first start. */
  readonly made_by: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it expires, UTC. */
  readonly expires: DateText;
};

/** A created link, which is only returned once. */
export type IssuedInvitation = Invitation & { readonly link: string };

/** Input for creating a link. */
export type InvitationInput = { readonly user_id: Id };

/** Filters of the list of links. */
export type InvitationFilters = Window & Optional<{ user_id: Id }>;

/** Links that can still be used, ordered by id; for admins. */
export interface Invitations extends Lists<Invitation, InvitationFilters>, Creates<IssuedInvitation, InvitationInput> {
  /**
   * Revokes a link. Errors: `not_found`, `not_permitted`.
   *
   * @example
   * ```ts
   * await console.invitations.withdraw('7');
   * ```
   */
  withdraw(id: Id, options?: ChangeOptions): Promise<void>;
}

/** Links at `/invitations`. */
export function invitations(send: Send): Invitations {
  return {
    ...lists<Invitation, InvitationFilters>(send, 'invitations', 'id'),
    ...creates<IssuedInvitation, InvitationInput>(send, 'invitations'),
    withdraw: deletes(send, 'invitations').delete,
  };
}

/** Input for changing the passphrase. */
export type PassphraseInput = {
  /** The current passphrase. */
  readonly current: string;
  /** The new one: 12 to 256 characters, neither the e-mail address nor the domain. */
  readonly passphrase: string;
};

/** The caller's own passphrase. */
export interface Passphrase {
  /**
   * Changes the passphrase and ends the user's other sessions. Errors: `invalid_input` with the field,
   * `too_many_tries`.
   *
   * @example
   * ```ts
   * await console.passphrase.set({ current: passphrase, passphrase: newPassphrase });
   * ```
   */
  set(input: PassphraseInput, options?: CallOptions): Promise<SignedIn>;
}

/** The passphrase at `/passphrase`. */
export function passphrase(send: Send): Passphrase {
  return {
    set: async (input, options) =>
      recordOf(await send({ ...options, method: 'PUT', path: ['passphrase'], body: input })),
  };
}

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
