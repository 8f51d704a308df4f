import { email, key, line, name, referenceOrNone } from '../../http/fields.ts';
import { idFilter } from '../filters.ts';
import { recordsOf } from '../records.ts';
import { rowsOf } from '../rows.ts';
import { stamps } from '../stamps.ts';

/** A contact: somebody to speak to, mostly at a client (C36). */
export const contactFields = {
  contact_id: key('Identifier of the contact.'),
  contact_name: name('Name of the contact.'),
  email: email('E-mail address.', 'optional'),
  tel: line('Telephone.', 64),
  fax: line('Fax.', 64),
  mobile: line('Mobile telephone.', 64),
  role: line('What they do there.'),
  company_name: line('The company that they work for.'),
  client_id: referenceOrNone('The client that they speak for.'),
  ...stamps,
};

export const contactFilters = {
  client_id: idFilter('Of this client; 0 for those of none.', 'contacts.client_id'),
};

export const contacts = recordsOf('contact', { fields: contactFields, filters: contactFilters });

export const contactRoutes = rowsOf(contacts, {
  list: 'Contacts.',
  create: 'Adds a contact.',
  one: 'One contact.',
  change: 'Changes what is given of a contact.',
  remove: 'Deletes a contact.',
});
