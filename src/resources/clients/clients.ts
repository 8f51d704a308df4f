import { ownRecordId } from '../../http/fields/reference-fields.ts';
import { constant, email, longText, requiredName, shortText } from '../../http/fields/scalar-fields.ts';
import { defineResource } from '../core/define-resource.ts';
import { activeState, commonFields } from '../core/domain-fields.ts';
import { containsFilter } from '../core/filters.ts';
import { createResourceRoutes } from '../core/resource-routes.ts';
import { ascendingBy, descendingBy, numberKey, textKey } from '../core/sorting.ts';

/** Fields of a client (C29). */
export const clientFields = {
  client_id: ownRecordId('Identifier of the client.'),
  client_name: requiredName('Name of the client.'),
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
  active: activeState(),
  ...commonFields,
};

const clientFilters = {
  client_name: containsFilter('Part of the name, compared without case.', 'clients.client_name'),
};

export const clients = defineResource('client', {
  fields: clientFields,
  filters: clientFilters,
  orders: {
    description: 'clientname ascending, latest descending; else by id.',
    byName: {
      clientname: ascendingBy(textKey('fold(clients.client_name)')),
      latest: descendingBy(numberKey('clients.date_created')),
    },
  },
});

export const clientRoutes = createResourceRoutes(clients, {
  list: 'Lists clients.',
  create: 'Creates a client.',
  get: 'Returns a client.',
  change: 'Changes the given fields of a client.',
  remove: 'Deletes a client; its contacts and projects stay, with client "0".',
});
