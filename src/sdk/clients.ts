import { type Creates, creates, type Editable, editable } from './resource.ts';
import type { Send } from './transport.ts';
import type { Active, ActiveInput, DateText, IdOrNone, Optional, Window } from './wire.ts';

/** A client as it is read; text that was never given is `""`. C29. */
export type Client = {
  /** Identifier of the client. */
  readonly client_id: string;
  /** Name of the client. */
  readonly client_name: string;
  /** The main contact; there are no contacts yet. */
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
  /** The creator. */
  readonly user_id: string;
};

/** What a client is created from. C29. */
export type ClientInput = Pick<Client, 'client_name'> &
  Optional<
    Pick<
      Client,
      | 'email'
      | 'tel'
      | 'fax'
      | 'mobile'
      | 'website'
      | 'address'
      | 'city'
      | 'state'
      | 'postcode'
      | 'country'
      | 'notes'
      | 'background'
    > & {
      /** 1 active, 0 inactive, 2 on hold. */
      active: ActiveInput;
      /** The creator; `0`, `""` or `null`: the caller. Another than the caller is for admins. C14. */
      user_id: IdOrNone;
    }
  >;

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
    ...editable<Client, ClientChanges, ClientFilters>(send, 'clients', 'client_id'),
    ...creates<Client, ClientInput>(send, 'clients'),
  };
}
