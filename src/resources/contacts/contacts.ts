import { ownRecordId, recordIdOrNone } from '../../http/fields/reference-fields.ts';
import { email, requiredName, shortText } from '../../http/fields/scalar-fields.ts';
import { defineResource } from '../core/define-resource.ts';
import { commonFields } from '../core/domain-fields.ts';
import { idFilter } from '../core/filters.ts';
import { createResourceRoutes } from '../core/resource-routes.ts';

/** Fields of a contact, usually a person at a client (C36). */
const contactFields = {
  contact_id: ownRecordId('Identifier of the contact.'),
  contact_name: requiredName('Name of the contact.'),
  email: email('E-mail address.', 'optional'),
  tel: shortText('Telephone.', 64),
  fax: shortText('Fax.', 64),
  mobile: shortText('Mobile telephone.', 64),
  role: shortText('Role of the contact.'),
  company_name: shortText('Name of the company of the contact.'),
  client_id: recordIdOrNone('The client of the contact.'),
  ...commonFields,
};

const contactFilters = {
  client_id: idFilter('Only contacts of this client; 0 for contacts without one.', 'contacts.client_id'),
};

const contacts = defineResource('contact', { fields: contactFields, filters: contactFilters });

export const contactRoutes = createResourceRoutes(contacts, {
  list: 'Lists contacts.',
  create: 'Creates a contact.',
  get: 'Returns a contact.',
  change: 'Changes the given fields of a contact.',
  remove: 'Deletes a contact.',
});
