// Written by test/docs.ts from the route rows. Change that, then: npm run docs

import type { Active, ActiveInput, DateText, IdOrNone, Optional, Window } from './api-types.ts';
import { type Creates, creates, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';

/** A client as returned by the API. C29, C34. */
export type Client = {
  /** Identifier of the client. */
  readonly client_id: string;
  /** Name of the client. */
  readonly client_name: string;
  /** Always "0": contacts name their client. */
  readonly contact_id: string;
  /** E-mail address. */
  readonly email: string;
  /** Telephone. */
  readonly tel: string;
  /** Fax. */
  readonly fax: string;
  /** Mobile telephone. */
  readonly mobile: string;
  /** Website. */
  readonly website: string;
  /** Street and number. */
  readonly address: string;
  /** City. */
  readonly city: string;
  /** State or region. */
  readonly state: string;
  /** Postcode. */
  readonly postcode: string;
  /** Country. */
  readonly country: string;
  /** Notes. */
  readonly notes: string;
  /** Background. */
  readonly background: string;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: Active;
  /** When it was created, UTC. */
  readonly date_created: DateText;
  /** When it was last modified, UTC. */
  readonly date_modified: DateText;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: string;
};

/** Input to create a client. C29, C34. */
export type ClientInput = {
  /** Name of the client. */
  readonly client_name: string;
} & Optional<{
  /** E-mail address. */
  readonly email: string;
  /** Telephone. */
  readonly tel: string;
  /** Fax. */
  readonly fax: string;
  /** Mobile telephone. */
  readonly mobile: string;
  /** Website. */
  readonly website: string;
  /** Street and number. */
  readonly address: string;
  /** City. */
  readonly city: string;
  /** State or region. */
  readonly state: string;
  /** Postcode. */
  readonly postcode: string;
  /** Country. */
  readonly country: string;
  /** Notes. */
  readonly notes: string;
  /** Background. */
  readonly background: string;
  /** 1 active, 0 inactive, 2 on hold. */
  readonly active: ActiveInput;
  /** The user who created it. Only admins may give another user. "0" for none. */
  readonly user_id: IdOrNone;
}>;

/** Fields of a client that can be changed. C29, C34. */
export type ClientChanges = Optional<ClientInput>;

/** Filters of the list of clients, combined with AND. C29, C34. */
export type ClientFilters = Window &
  Optional<{
    /** Part of the name, compared without case. */
    readonly client_name: string;
    /** clientname ascending, latest descending; else by id. */
    readonly order: 'clientname' | 'latest';
  }>;

/** Methods for clients. C29, C34. */
export type Clients = Editable<Client, ClientChanges, ClientFilters> & Creates<Client, ClientInput>;

/** Methods for clients at `/clients`. */
export function clients(send: Send): Clients {
  return {
    ...editable<Client, ClientChanges, ClientFilters>(send, 'clients', 'client_id'),
    ...creates<Client, ClientInput>(send, 'clients'),
  };
}
