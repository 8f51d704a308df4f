import './records.css';
import type { Client, Contact, ContactChanges, ContactFilters } from '../../../packages/sdk/src/resources.ts';
import { client } from '../app/client.ts';
import { currentRoute, hrefTo, navigate } from '../app/router.ts';
import { Menu } from '../components/menu.tsx';
import { EmptyState } from '../components/page.tsx';
import { type Deletable, toCreateInput, useDelete } from './delete-with-undo.tsx';
import {
  choiceField,
  type EditableResource,
  type FieldDefinition,
  InlineField,
  textField,
} from './editable-fields.tsx';
import { FilterSelect, RecordList } from './record-list.tsx';
import { PAGE_SIZE, pageOffset, useClients, useRecords } from './records.ts';

/** Reads the API filters from the query of the route; `clientId` limits the list to one client. */
export function contactFilters(clientId = currentRoute.value.query.get('client') ?? ''): ContactFilters {
  return { ...(clientId !== '' && { client_id: clientId }), limit: PAGE_SIZE, offset: pageOffset() };
}

/** Paginated list of all contacts, or of the contacts of one client. */
export function ContactList({ clientId }: { readonly clientId?: string }) {
  const filters = contactFilters(clientId);
  const clients = useClients();
  const records = useRecords((signal) => client.contacts.list(filters, { signal }), [filters], contacts.idOf);
  const deleting = useDelete(contacts, { onGone: records.drop, onBack: records.append });
  const isUnfiltered = clientId === undefined;
  const clientOptions = (clients.data ?? []).map(({ client_id, client_name }) => ({
    value: client_id,
    text: client_name,
  }));
  const { client_id } = filters;
  return (
    <section class="stack" aria-label="Contacts">
      {isUnfiltered ? (
        <div class="row filters">
          <FilterSelect
            name="client"
            label="Client"
            options={[{ value: '', text: 'All clients' }, { value: '0', text: 'Without a client' }, ...clientOptions]}
          />
        </div>
      ) : (
        <h2>Contacts</h2>
      )}
      <RecordList
        records={records}
        words={['contact', 'contacts']}
        columns={['Contact', 'Role', 'Email', 'Telephone', ...(isUnfiltered ? ['Client'] : [])]}
        empty={
          <EmptyState icon="user" title="No contacts here">
            <p>A contact is somebody to speak to. Write a name below; how to reach them can follow.</p>
          </EmptyState>
        }
        row={(contact) => (
          <ContactRow
            key={contact.contact_id}
            contact={contact}
            clientField={isUnfiltered ? clientField(contact, clients.data) : undefined}
            onChange={records.put}
            onDelete={deleting.begin}
          />
        )}
        create={(contact_name) =>
          client.contacts.create({ contact_name, ...(client_id !== undefined && { client_id }) })
        }
      />
      {deleting.question}
    </section>
  );
}

type ContactRowProps = {
  readonly contact: Contact;
  readonly onChange: (contact: Contact) => void;
  readonly onDelete: (contact: Contact) => void;
  /** Editable field for the client of the contact; undefined in the list of a single client. */
  readonly clientField: ReturnType<typeof clientField> | undefined;
};

function ContactRow({ contact, onChange, onDelete, clientField }: ContactRowProps) {
  const shared = { kept: contacts, record: contact, onChange };
  const address = hrefTo('contacts', contact.contact_id);
  const { name, role, email, tel } = contactFields;
  return (
    <tr>
      <td class="name">
        <InlineField {...shared} field={name} href={address} />
      </td>
      {[role, email, tel, ...(clientField === undefined ? [] : [clientField])].map((field) => (
        <td key={field.label} class="where">
          <InlineField {...shared} field={field} />
        </td>
      ))}
      <td class="more">
        <Menu
          label={`More for ${contact.contact_name}`}
          items={[
            { text: 'Open', icon: 'user', onPick: () => navigate(address) },
            { text: 'Delete', icon: 'trash', isDanger: true, onPick: () => onDelete(contact) },
          ]}
        />
      </td>
    </tr>
  );
}

export const contacts: EditableResource<Contact, ContactChanges> & Deletable<Contact> = {
  resource: client.contacts,
  idOf: ({ contact_id }) => contact_id,
  nameOf: ({ contact_name }) => contact_name,
  findWarning: async () => undefined,
  recreate: (contact) => client.contacts.create(toCreateInput(contact)),
};

/** Editable fields of a contact. */
export const contactFields = {
  name: textField<Contact, ContactChanges>('contact_name', 'Name'),
  role: textField<Contact, ContactChanges>('role', 'Role'),
  company: textField<Contact, ContactChanges>('company_name', 'Company'),
  email: textField<Contact, ContactChanges>('email', 'Email', { type: 'email' }),
  tel: textField<Contact, ContactChanges>('tel', 'Telephone'),
  mobile: textField<Contact, ContactChanges>('mobile', 'Mobile'),
  fax: textField<Contact, ContactChanges>('fax', 'Fax'),
};

/** Returns the select field for the client of a contact; its options include the current client in any case. */
export function clientField(
  contact: Contact,
  clients: readonly Client[] = [],
): FieldDefinition<Contact, ContactChanges> {
  const options = clients.map(({ client_id, client_name }) => ({ value: client_id, text: client_name }));
  const isMissing = contact.client_id !== '0' && !options.some(({ value }) => value === contact.client_id);
  const own = isMissing ? [{ value: contact.client_id, text: `Client ${contact.client_id}` }] : [];
  return choiceField<Contact, ContactChanges>(
    'client_id',
    'Client',
    [{ value: '0', text: 'None' }, ...own, ...options],
    {
      show: ({ client_id }) => {
        const { client_name } = clients.find((one) => one.client_id === client_id) ?? {};
        return client_id === '0' ? <span class="nothing">None</span> : (client_name ?? `Client ${client_id}`);
      },
    },
  );
}
