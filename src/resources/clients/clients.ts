import { active, email, fixed, key, line, name, prose } from '../../http/fields.ts';
import { partOf } from '../filters.ts';
import { falling, number, rising, text } from '../order.ts';
import { recordsOf } from '../records.ts';
import { rowsOf } from '../rows.ts';
import { stamps } from '../stamps.ts';

/** A client (C29). */
export const clientFields = {
  client_id: key('Identifier of the client.'),
  client_name: name('Name of the client.'),
  contact_id: fixed('Always "0": contacts name their client.', '0'),
  email: email('E-mail address.', 'optional'),
  tel: line('Telephone.', 64),
  fax: line('Fax.', 64),
  mobile: line('Mobile telephone.', 64),
  website: line('Website.', 2_048),
  address: line('Street and number.', 1_000),
  city: line('City.'),
  state: line('State or region.'),
  postcode: line('Postcode.', 32),
  country: line('Country.'),
  notes: prose('Notes.'),
  background: prose('Background.'),
  active: active(),
  ...stamps,
};

export const clientFilters = {
  client_name: partOf('A part of the name, in any case.', 'clients.client_name'),
};

export const clients = recordsOf('client', {
  fields: clientFields,
  filters: clientFilters,
  orders: {
    says: 'clientname ascending, latest descending; else by id.',
    by: { clientname: rising(text('fold(clients.client_name)')), latest: falling(number('clients.date_created')) },
  },
});

export const clientRoutes = rowsOf(clients, {
  list: 'Clients.',
  create: 'Adds a client.',
  one: 'One client.',
  change: 'Changes what is given of a client.',
  remove: 'Deletes a client; its contacts and projects stay, with client "0".',
});
