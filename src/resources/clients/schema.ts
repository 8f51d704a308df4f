import { active, email, fixed, key, line, name, prose } from '../../http/fields.ts';
import { partOf } from '../filters.ts';
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
