import type { Client, ClientChanges } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { Badge } from '../../components/badge.tsx';
import { type Deletable, dependentsText, inputOf } from '../../records/delete-with-undo.tsx';
import { choice, type EditableResource, text } from '../../records/editable-fields.tsx';

export const clients: EditableResource<Client, ClientChanges> & Deletable<Client> = {
  resource: client.clients,
  idOf: ({ client_id }) => client_id,
  nameOf: ({ client_name }) => client_name,
  async findWarning({ client_id }) {
    const countOnly = { client_id, limit: 1 };
    const [projects, contacts] = await Promise.all([client.projects.list(countOnly), client.contacts.list(countOnly)]);
    const consequences = [
      stays(projects.paging.total_records, 'project'),
      stays(contacts.paging.total_records, 'contact'),
    ].filter((text) => text !== '');
    if (consequences.length === 0) return undefined;
    return {
      yes: 'Delete',
      text: `${consequences.join(' ')} This cannot be taken back. On hold, nothing would be lost.`,
    };
  },
  recreate: (record) => client.clients.create(inputOf(record)),
};

const stays = (count: number, word: string) =>
  count === 0 ? '' : `${dependentsText(count, word)} ${count === 1 ? 'stays' : 'stay'}, without a client.`;

const states = [
  { value: '1', text: 'Active', tone: 'good' },
  { value: '2', text: 'On hold', tone: 'warn' },
  { value: '0', text: 'Inactive', tone: 'plain' },
] as const;

/** Editable fields of a client. */
export const clientFields = {
  name: text<Client, ClientChanges>('client_name', 'Name'),
  state: choice<Client, ClientChanges>('active', 'State', states, {
    show: ({ active }) => {
      const state = states.find(({ value }) => value === active);
      return <Badge tone={state?.tone ?? 'plain'}>{state?.text}</Badge>;
    },
  }),
  email: text<Client, ClientChanges>('email', 'Email', { type: 'email' }),
  tel: text<Client, ClientChanges>('tel', 'Telephone'),
  mobile: text<Client, ClientChanges>('mobile', 'Mobile'),
  fax: text<Client, ClientChanges>('fax', 'Fax'),
  website: text<Client, ClientChanges>('website', 'Website'),
  address: text<Client, ClientChanges>('address', 'Address', { type: 'area' }),
  postcode: text<Client, ClientChanges>('postcode', 'Postcode'),
  city: text<Client, ClientChanges>('city', 'City'),
  region: text<Client, ClientChanges>('state', 'State or region'),
  country: text<Client, ClientChanges>('country', 'Country'),
  background: text<Client, ClientChanges>('background', 'Background', { type: 'area', empty: 'Add background' }),
  notes: text<Client, ClientChanges>('notes', 'Notes', { type: 'area', empty: 'Add notes' }),
};
