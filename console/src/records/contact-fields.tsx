import type { Client } from '../../../packages/sdk/src/clients.ts';
import type { Contact, ContactChanges } from '../../../packages/sdk/src/contacts.ts';
import { client } from '../app/client.ts';
import { type Deletable, inputOf } from './delete-with-undo.tsx';
import { choice, type Fact, type Kept, text } from './editable-fields.tsx';

export const contacts: Kept<Contact, ContactChanges> & Deletable<Contact> = {
  noun: client.contacts,
  idOf: ({ contact_id }) => contact_id,
  nameOf: ({ contact_name }) => contact_name,
  consequence: async () => undefined,
  again: (contact) => client.contacts.create(inputOf(contact)),
};

/** Editable fields of a contact. */
export const contactFacts = {
  name: text<Contact, ContactChanges>('contact_name', 'Name'),
  role: text<Contact, ContactChanges>('role', 'Role'),
  company: text<Contact, ContactChanges>('company_name', 'Company'),
  email: text<Contact, ContactChanges>('email', 'Email', { type: 'email' }),
  tel: text<Contact, ContactChanges>('tel', 'Telephone'),
  mobile: text<Contact, ContactChanges>('mobile', 'Mobile'),
  fax: text<Contact, ContactChanges>('fax', 'Fax'),
};

/** Select for the client that a contact belongs to; includes the current client if the list does not. */
export function spokenFor(contact: Contact, clients: readonly Client[] = []): Fact<Contact, ContactChanges> {
  const options = clients.map(({ client_id, client_name }) => ({ value: client_id, text: client_name }));
  const isMissing = contact.client_id !== '0' && !options.some(({ value }) => value === contact.client_id);
  const own = isMissing ? [{ value: contact.client_id, text: `Client ${contact.client_id}` }] : [];
  return choice<Contact, ContactChanges>('client_id', 'Client', [{ value: '0', text: 'None' }, ...own, ...options], {
    show: ({ client_id }) => {
      const { client_name } = clients.find((one) => one.client_id === client_id) ?? {};
      return client_id === '0' ? <span class="nothing">None</span> : (client_name ?? `Client ${client_id}`);
    },
  });
}
