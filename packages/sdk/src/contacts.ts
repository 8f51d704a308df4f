// Written by test/docs.ts from the route rows. Change that, then: npm run docs

import type { DateText, Id, IdOrNone, Optional, Window } from './api-types.ts';
import { type Creates, creates, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';

/** A contact as returned by the API. C36. */
export type Contact = {
  /** Identifier of the contact. */
  readonly contact_id: string;
  /** Name of the contact. */
  readonly contact_name: string;
  /** E-mail address. */
  readonly email: string;
  /** Telephone. */
  readonly tel: string;
  /** Fax. */
  readonly fax: string;
  /** Mobile telephone. */
  readonly mobile: string;
  /** Their role. */
  readonly role: string;
  /** Name of their company. */
  readonly company_name: string;
  /** The client of the contact. "0" for none. */
  readonly client_id: string;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: string;
};

/** Input to create a contact. C36. */
export type ContactInput = {
  /** Name of the contact. */
  readonly contact_name: string;
} & Optional<{
  /** E-mail address. */
  readonly email: string;
  /** Telephone. */
  readonly tel: string;
  /** Fax. */
  readonly fax: string;
  /** Mobile telephone. */
  readonly mobile: string;
  /** Their role. */
  readonly role: string;
  /** Name of their company. */
  readonly company_name: string;
  /** The client of the contact. "0" for none. */
  readonly client_id: IdOrNone;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
}>;

/** Fields of a contact that can be changed. C36. */
export type ContactChanges = Optional<ContactInput>;

/** Filters of the list of contacts, combined with AND. C36. */
export type ContactFilters = Window &
  Optional<{
    /** Only contacts of this client; 0 for contacts without one. */
    readonly client_id: Id;
  }>;

/** Methods for contacts. C36. */
export type Contacts = Editable<Contact, ContactChanges, ContactFilters> & Creates<Contact, ContactInput>;

/** Methods for contacts at `/contacts`. */
export function contacts(send: Send): Contacts {
  return {
    ...editable<Contact, ContactChanges, ContactFilters>(send, 'contacts', 'contact_id'),
    ...creates<Contact, ContactInput>(send, 'contacts'),
  };
}
