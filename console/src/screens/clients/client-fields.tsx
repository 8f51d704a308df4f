import type { Client, ClientChanges } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { Badge } from '../../components/badge.tsx';
import { type DeletableResource, formatDependentsSubject, toCreateInput } from '../../records/delete-with-undo.tsx';
import { choiceField, type EditableResource, textField } from '../../records/editable-fields.tsx';

export const clients: EditableResource<Client, ClientChanges> & DeletableResource<Client> = {
  resource: client.clients,
  idOf: ({ client_id }) => client_id,
  nameOf: ({ client_name }) => client_name,
  async findWarning({ client_id }) {
    const countFilters = { client_id, limit: 1 };
    const [projectsPage, contactsPage] = await Promise.all([
      client.projects.list(countFilters),
      client.contacts.list(countFilters),
    ]);
    const consequences = [
      describeRemaining(projectsPage.paging.total_records, 'project'),
      describeRemaining(contactsPage.paging.total_records, 'contact'),
    ].filter((text) => text !== '');
    if (consequences.length === 0) return undefined;
    return {
      confirmLabel: 'Delete',
      text: `${consequences.join(' ')} This cannot be taken back. On hold, nothing would be lost.`,
    };
  },
  recreate: (record) => client.clients.create(toCreateInput(record)),
};

const describeRemaining = (count: number, noun: string) =>
  count === 0 ? '' : `${formatDependentsSubject(count, noun)} ${count === 1 ? 'stays' : 'stay'}, without a client.`;

const clientStates = [
  { value: '1', text: 'Active', tone: 'good' },
  { value: '2', text: 'On hold', tone: 'warn' },
  { value: '0', text: 'Inactive', tone: 'plain' },
] as const;

/** Editable fields of a client. */
export const clientFields = {
  name: textField<Client, ClientChanges>('client_name', 'Name'),
  state: choiceField<Client, ClientChanges>('active', 'State', clientStates, {
    renderValue: ({ active }) => {
      const state = clientStates.find(({ value }) => value === active);
      return <Badge tone={state?.tone ?? 'plain'}>{state?.text}</Badge>;
    },
  }),
  email: textField<Client, ClientChanges>('email', 'Email', { type: 'email' }),
  tel: textField<Client, ClientChanges>('tel', 'Telephone'),
  mobile: textField<Client, ClientChanges>('mobile', 'Mobile'),
  fax: textField<Client, ClientChanges>('fax', 'Fax'),
  website: textField<Client, ClientChanges>('website', 'Website'),
  address: textField<Client, ClientChanges>('address', 'Address', { type: 'area' }),
  postcode: textField<Client, ClientChanges>('postcode', 'Postcode'),
  city: textField<Client, ClientChanges>('city', 'City'),
  region: textField<Client, ClientChanges>('state', 'State or region'),
  country: textField<Client, ClientChanges>('country', 'Country'),
  background: textField<Client, ClientChanges>('background', 'Background', { type: 'area', empty: 'Add background' }),
  notes: textField<Client, ClientChanges>('notes', 'Notes', { type: 'area', empty: 'Add notes' }),
};
