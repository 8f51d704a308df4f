import { type Creates, creates, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';
import type { Active, ActiveInput, DateText, Id, Optional, Window } from './wire.ts';

/** A client as it is read; text that was never given is `""`. C29. */
export type Client = {
  readonly client_id: string;
  readonly client_name: string;
  readonly contact_id: string;
  readonly email: string;
  readonly tel: string;
  readonly fax: string;
  readonly mobile: string;
  readonly website: string;
  readonly address: string;
  readonly city: string;
  readonly state: string;
  readonly postcode: string;
  readonly country: string;
  readonly notes: string;
  readonly background: string;
  readonly active: Active;
  readonly date_created: DateText;
  readonly date_modified: DateText;
  /** The creator. */
  readonly user_id: string;
};

/** What a client is created from. C29. */
export type ClientInput = { readonly client_name: string } & Optional<{
  email: string;
  tel: string;
  fax: string;
  mobile: string;
  website: string;
  address: string;
  city: string;
  state: string;
  postcode: string;
  country: string;
  notes: string;
  background: string;
  active: ActiveInput;
  /** The creator; another than the caller is for admins. C14. */
  user_id: Id;
}>;

/** What can be changed of a client. C29. */
export type ClientChanges = Optional<ClientInput>;

/** Filters of the list of clients. C29. */
export type ClientFilters = Window &
  Optional<{
    /** Part of the name, in any case. */
    client_name: string;
    /** clientname ascends, latest descends; without it: by id. */
    order: 'clientname' | 'latest';
  }>;

/** Clients. C29, C34. */
export type Clients = Editable<Client, ClientChanges, ClientFilters> & Creates<Client, ClientInput>;

/** Clients at `/clients`. */
export function clients(send: Send): Clients {
  return {
    ...editable<Client, ClientChanges, ClientFilters>(send, 'clients'),
    ...creates<Client, ClientInput>(send, 'clients'),
  };
}
