import type { Contact, ContactFilters } from '../../../packages/sdk/src/contacts.ts';
import { client } from '../app/client.ts';
import { go, place, to } from '../app/router.ts';
import { Menu } from '../components/menu.tsx';
import { Empty } from '../components/page.tsx';
import { contactFacts, contacts, spokenFor } from './contact-fields.tsx';
import { useDelete } from './delete-with-undo.tsx';
import { FactField } from './editable-fields.tsx';
import { Narrow, RecordList } from './record-list.tsx';
import { useClients } from './record-options.ts';
import { PAGE_SIZE, pageOffset, useRecords } from './records.ts';
import './records.css';

/** API filters from the query of the route; `clientId` limits the list to one client. */
export function contactFilters(clientId = place.value.query.get('client') ?? ''): ContactFilters {
  return { ...(clientId !== '' && { client_id: clientId }), limit: PAGE_SIZE, offset: pageOffset() };
}

/** Paginated list of contacts: all, or those of one client. */
export function ContactList({ clientId }: { readonly clientId?: string }) {
  const filters = contactFilters(clientId);
  const clients = useClients();
  const records = useRecords((signal) => client.contacts.list(filters, { signal }), [filters], contacts.idOf);
  const deleting = useDelete(contacts, { onGone: records.drop, onBack: records.append });
  const isUnfiltered = clientId === undefined;
  const named = (clients.data ?? []).map(({ client_id, client_name }) => ({ value: client_id, text: client_name }));
  const { client_id } = filters;
  return (
    <section class="stack" aria-label="Contacts">
      {isUnfiltered ? (
        <div class="row filters">
          <Narrow
            name="client"
            label="Client"
            options={[{ value: '', text: 'All clients' }, { value: '0', text: 'Without a client' }, ...named]}
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
          <Empty icon="user" title="No contacts here">
            <p>A contact is somebody to speak to. Write a name below; how to reach them can follow.</p>
          </Empty>
        }
        row={(contact) => (
          <ContactRow
            key={contact.contact_id}
            contact={contact}
            clientField={isUnfiltered ? spokenFor(contact, clients.data) : undefined}
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
  /** Field of the client; undefined in the list of a single client. */
  readonly clientField: ReturnType<typeof spokenFor> | undefined;
};

function ContactRow({ contact, onChange, onDelete, clientField }: ContactRowProps) {
  const shared = { kept: contacts, record: contact, onChange };
  const address = to('contacts', contact.contact_id);
  const { name, role, email, tel } = contactFacts;
  return (
    <tr>
      <td class="name">
        <FactField {...shared} fact={name} href={address} />
      </td>
      {[role, email, tel, ...(clientField === undefined ? [] : [clientField])].map((fact) => (
        <td key={fact.label} class="where">
          <FactField {...shared} fact={fact} />
        </td>
      ))}
      <td class="more">
        <Menu
          label={`More for ${contact.contact_name}`}
          items={[
            { text: 'Open', icon: 'user', onPick: () => go(address) },
            { text: 'Delete', icon: 'trash', isDanger: true, onPick: () => onDelete(contact) },
          ]}
        />
      </td>
    </tr>
  );
}
