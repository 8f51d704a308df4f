import { active, constant, email, key, longText, name, shortText } from '../../http/fields/field-types.ts';
import { defineResource } from '../core/define-resource.ts';
import { containsFilter } from '../core/filters.ts';
import { resourceRoutes } from '../core/resource-routes.ts';
import { asc, desc, number, text } from '../core/sorting.ts';
import { stamps } from '../core/timestamps.ts';

/** Fields of a client (C29). */
export const clientFields = {
  client_id: key('Identifier of the client.'),
  client_name: name('Name of the client.'),
  contact_id: constant('Always "0": contacts name their client.', '0'),
  email: email('E-mail address.', 'optional'),
  tel: shortText('Telephone.', 64),
  fax: shortText('Fax.', 64),
  mobile: shortText('Mobile telephone.', 64),
  website: shortText('Website.', 2_048),
  address: shortText('Street and number.', 1_000),
  city: shortText('City.'),
  state: shortText('State or region.'),
  postcode: shortText('Postcode.', 32),
  country: shortText('Country.'),
  notes: longText('Notes.'),
  background: longText('Background.'),
  active: active(),
  ...stamps,
};

export const clientFilters = {
  client_name: containsFilter('Part of the name, compared without case.', 'clients.client_name'),
};

export const clients = defineResource('client', {
  fields: clientFields,
  filters: clientFilters,
  orders: {
    descriptions: 'clientname ascending, latest descending; else by id.',
    by: { clientname: asc(text('fold(clients.client_name)')), latest: desc(number('clients.date_created')) },
  },
});

export const clientRoutes = resourceRoutes(clients, {
  list: 'Lists clients.',
  create: 'Creates a client.',
  one: 'Returns a client.',
  change: 'Changes the given fields of a client.',
  remove: 'Deletes a client; its contacts and projects stay, with client "0".',
});
