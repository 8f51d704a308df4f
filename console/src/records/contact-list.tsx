import './records.css';
import type { Client, Contact, ContactChanges, ContactFilters } from '../../../packages/sdk/src/resources.ts';
import { client } from '../app/client.ts';
import { currentRoute, hrefTo, navigate } from '../app/router.ts';
import { Menu } from '../components/menu.tsx';
import { EmptyState } from '../components/page.tsx';
import { type DeletableResource, toCreateInput, useDelete } from './delete-with-undo.tsx';
import {
  defineChoiceField,
  defineTextField,
  type EditableResource,
  type FieldDefinition,
  InlineField,
} from './editable-fields.tsx';
import { FilterSelect, RecordList } from './record-list.tsx';
import { RECORDS_PER_PAGE, readPageOffset, useClients, useRecords } from './records.ts';

/** Reads the API filters from the query of the route; `clientId` limits the list to one client. */
export function readContactFilters(clientId = currentRoute.value.query.get('client') ?? ''): ContactFilters {
  return { ...(clientId !== '' && { client_id: clientId }), limit: RECORDS_PER_PAGE, offset: readPageOffset() };
}

/** Paginated list of all contacts, or of the contacts of one client. */
export function ContactList({ clientId }: { readonly clientId?: string }) {
  const filters = readContactFilters(clientId);
  const clientsQuery = useClients();
  const records = useRecords((signal) => client.contacts.list(filters, { signal }), [filters], contactResource.idOf);
  const deletion = useDelete(contactResource, { onDeleted: records.remove, onRestored: records.append });
  const isAcrossClients = clientId === undefined;
  const clientOptions = (clientsQuery.data ?? []).map(({ client_id, client_name }) => ({
    value: client_id,
    text: client_name,
  }));
  const { client_id } = filters;
  return (
    <section class="stack" aria-label="Contacts">
      {isAcrossClients ? (
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
        nounForms={['contact', 'contacts']}
        columns={['Contact', 'Role', 'Email', 'Telephone', ...(isAcrossClients ? ['Client'] : [])]}
        emptyState={
          <EmptyState icon="user" title="No contacts here">
            <p>A contact is somebody to speak to. Write a name below; how to reach them can follow.</p>
          </EmptyState>
        }
        renderRow={(contact) => (
          <ContactRow
            key={contact.contact_id}
            contact={contact}
            clientField={isAcrossClients ? buildContactClientField(contact, clientsQuery.data) : undefined}
            onChange={records.replace}
            onDelete={deletion.startDelete}
          />
        )}
        createRecord={(contact_name) =>
          client.contacts.create({ contact_name, ...(client_id !== undefined && { client_id }) })
        }
      />
      {deletion.confirmDialog}
    </section>
  );
}

type ContactRowProps = {
  readonly contact: Contact;
  readonly onChange: (contact: Contact) => void;
  readonly onDelete: (contact: Contact) => void;
  /** Editable field for the client of the contact; undefined in the list of a single client. */
  readonly clientField: ReturnType<typeof buildContactClientField> | undefined;
};

function ContactRow({ contact, onChange, onDelete, clientField }: ContactRowProps) {
  const fieldProps = { editableResource: contactResource, record: contact, onChange };
  const detailHref = hrefTo('contacts', contact.contact_id);
  const { name, role, email, tel } = contactFields;
  return (
    <tr>
      <td class="name">
        <InlineField {...fieldProps} field={name} href={detailHref} />
      </td>
      {[role, email, tel, ...(clientField === undefined ? [] : [clientField])].map((field) => (
        <td key={field.label} class="where">
          <InlineField {...fieldProps} field={field} />
        </td>
      ))}
      <td class="more">
        <Menu
          label={`More for ${contact.contact_name}`}
          items={[
            { text: 'Open', icon: 'user', onPick: () => navigate(detailHref) },
            { text: 'Delete', icon: 'trash', isDestructive: true, onPick: () => onDelete(contact) },
          ]}
        />
      </td>
    </tr>
  );
}

export const contactResource: EditableResource<Contact, ContactChanges> & DeletableResource<Contact> = {
  resource: client.contacts,
  idOf: ({ contact_id }) => contact_id,
  nameOf: ({ contact_name }) => contact_name,
  findDeleteWarning: async () => undefined,
  recreate: (contact) => client.contacts.create(toCreateInput(contact)),
};

/** Editable fields of a contact. */
export const contactFields = {
  name: defineTextField<Contact, ContactChanges>('contact_name', 'Name'),
  role: defineTextField<Contact, ContactChanges>('role', 'Role'),
  company: defineTextField<Contact, ContactChanges>('company_name', 'Company'),
  email: defineTextField<Contact, ContactChanges>('email', 'Email', { type: 'email' }),
  tel: defineTextField<Contact, ContactChanges>('tel', 'Telephone'),
  mobile: defineTextField<Contact, ContactChanges>('mobile', 'Mobile'),
  fax: defineTextField<Contact, ContactChanges>('fax', 'Fax'),
};

/** Builds the select field for the client of a contact. The current client is an option even if not in `clients`. */
export function buildContactClientField(
  contact: Contact,
  clients: readonly Client[] = [],
): FieldDefinition<Contact, ContactChanges> {
  const options = clients.map(({ client_id, client_name }) => ({ value: client_id, text: client_name }));
  const isClientUnlisted = contact.client_id !== '0' && !options.some(({ value }) => value === contact.client_id);
  const unlistedClientOptions = isClientUnlisted
    ? [{ value: contact.client_id, text: `Client ${contact.client_id}` }]
    : [];
  return defineChoiceField<Contact, ContactChanges>(
    'client_id',
    'Client',
    [{ value: '0', text: 'None' }, ...unlistedClientOptions, ...options],
    {
      renderValue: ({ client_id }) => {
        const { client_name } = clients.find((candidate) => candidate.client_id === client_id) ?? {};
        return client_id === '0' ? <span class="nothing">None</span> : (client_name ?? `Client ${client_id}`);
      },
    },
  );
}
