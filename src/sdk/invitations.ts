import { type Creates, creates, deletes, type Lists, lists } from './resource.ts';
import type { CallOptions, Send } from './transport.ts';
import type { DateText, Id, Optional, Window } from './wire.ts';

/** A link by which a user sets a passphrase, once. */
export type Invitation = {
  readonly id: string;
  /** Whom it is for. */
  readonly user_id: string;
  /** Who made it; `0` for the command line and the first start. */
  readonly made_by: string;
  readonly date_created: DateText;
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
  withdraw(id: Id, options?: CallOptions): Promise<void>;
}

/** Links at `/invitations`. */
export function invitations(send: Send): Invitations {
  return {
    ...lists<Invitation, InvitationFilters>(send, 'invitations'),
    ...creates<IssuedInvitation, InvitationInput>(send, 'invitations'),
    withdraw: deletes(send, 'invitations').delete,
  };
}
