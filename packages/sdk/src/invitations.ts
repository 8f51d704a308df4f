import type { DateText, Id, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './pages.ts';
import { type Creates, creates, deletes } from './resource.ts';
import type { ChangeOptions, Send } from './transport.ts';

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
