import type { Client, ClientChanges } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { Badge } from '../../components/badge.tsx';
import { type DeletableResource, formatDependentsSubject, toCreateInput } from '../../records/delete-with-undo.tsx';
import { defineChoiceField, defineTextField, type EditableResource } from '../../records/editable-fields.tsx';

export const clientResource: EditableResource<Client, ClientChanges> & DeletableResource<Client> = {
  resource: client.clients,
  idOf: ({ client_id }) => client_id,
  nameOf: ({ client_name }) => client_name,
  async findDeleteWarning({ client_id }) {
    const countFilters = { client_id, limit: 1 };
    const [projectsPage, contactsPage] = await Promise.all([
      client.projects.list(countFilters),
      client.contacts.list(countFilters),
    ]);
    const consequences = [
      describeRemainingRecords(projectsPage.paging.total_records, 'project'),
      describeRemainingRecords(contactsPage.paging.total_records, 'contact'),
    ].filter((text) => text !== '');
    if (consequences.length === 0) return undefined;
    return {
      confirmLabel: 'Delete',
      text: `${consequences.join(' ')} This cannot be taken back. On hold, nothing would be lost.`,
    };
  },
  recreate: (record) => client.clients.create(toCreateInput(record)),
};

const describeRemainingRecords = (count: number, noun: string) =>
  count === 0 ? '' : `${formatDependentsSubject(count, noun)} ${count === 1 ? 'stays' : 'stay'}, without a client.`;

const clientStateOptions = [
  { value: '1', text: 'Active', tone: 'good' },
  { value: '2', text: 'On hold', tone: 'warn' },
  { value: '0', text: 'Inactive', tone: 'plain' },
] as const;

/** Editable fields of a client. */
export const clientFields = {
  name: defineTextField<Client, ClientChanges>('client_name', 'Name'),
  state: defineChoiceField<Client, ClientChanges>('active', 'State', clientStateOptions, {
    renderValue: ({ active }) => {
      const stateOption = clientStateOptions.find(({ value }) => value === active);
      return <Badge tone={stateOption?.tone ?? 'plain'}>{stateOption?.text}</Badge>;
    },
  }),
  email: defineTextField<Client, ClientChanges>('email', 'Email', { type: 'email' }),
  tel: defineTextField<Client, ClientChanges>('tel', 'Telephone'),
  mobile: defineTextField<Client, ClientChanges>('mobile', 'Mobile'),
  fax: defineTextField<Client, ClientChanges>('fax', 'Fax'),
  website: defineTextField<Client, ClientChanges>('website', 'Website'),
  address: defineTextField<Client, ClientChanges>('address', 'Address', { type: 'area' }),
  postcode: defineTextField<Client, ClientChanges>('postcode', 'Postcode'),
  city: defineTextField<Client, ClientChanges>('city', 'City'),
  region: defineTextField<Client, ClientChanges>('state', 'State or region'),
  country: defineTextField<Client, ClientChanges>('country', 'Country'),
  background: defineTextField<Client, ClientChanges>('background', 'Background', {
    type: 'area',
    emptyText: 'Add background',
  }),
  notes: defineTextField<Client, ClientChanges>('notes', 'Notes', { type: 'area', emptyText: 'Add notes' }),
};
