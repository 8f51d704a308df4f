import type { DateText, Id, Optional, Window } from './api-types.ts';
import { type Lists, lists } from './pages.ts';
import { type Creates, creates, deletes } from './resource.ts';
import type { ChangeOptions, Send } from './transport.ts';

/** A link by which a user sets a passphrase, once. */
export type Invitation = {
  /** Identifier of the link. */
  readonly id: string;
  /** Whom it is for. */
  readonly user_id: string;
  /** Who made it; `0` for the command line and the first start. */
  readonly made_by: string;
  /** When it was made, UTC. */
  readonly date_created: DateText;
  /** When it ends by itself, UTC. */
  readonly expires: DateText;
};

/** A link at the one moment when it can be seen. */
export type IssuedInvitation = Invitation & { readonly link: string };

/** What a link is made from. */
export type InvitationInput = { readonly user_id: Id };

/** Filters of the list of links. */
export type InvitationFilters = Window & Optional<{ user_id: Id }>;

/** Links that can still be used, ordered by id; for admins. */
export interface Invitations extends Lists<Invitation, InvitationFilters>, Creates<IssuedInvitation, InvitationInput> {
  /** Takes one back. Errors: `not_found`, `not_permitted`. */
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
