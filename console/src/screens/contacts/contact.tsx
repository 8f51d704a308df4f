import type { Contact } from '../../../../packages/sdk/src/resources.ts';
import { client } from '../../app/client.ts';
import { hrefTo, navigate, type RecordProps } from '../../app/router.ts';
import { Button } from '../../components/button.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/timestamp.tsx';
import { buildContactClientField, contactFields, contactResource } from '../../records/contact-list.tsx';
import { useDelete } from '../../records/delete-with-undo.tsx';
import { FieldList } from '../../records/editable-fields.tsx';
import { RecordPage } from '../../records/record-loader.tsx';
import { useClients } from '../../records/records.ts';
import '../../records/records.css';

/** Page of one contact: details and client. */
export default function ContactPage({ id }: RecordProps) {
  return (
    <RecordPage resource={client.contacts} id={id} loadingTitle="Contact" listScreenName="contacts">
      {(record, onChange) => <ContactDetails record={record} onChange={onChange} />}
    </RecordPage>
  );
}

function ContactDetails({
  record,
  onChange,
}: {
  readonly record: Contact;
  readonly onChange: (record: Contact) => void;
}) {
  const clientsQuery = useClients();
  const deletion = useDelete(contactResource, {
    onDeleted: () => navigate(hrefTo('contacts')),
    onRestored: ({ contact_id }) => navigate(hrefTo('contacts', contact_id)),
  });
  const { contact_id, contact_name, client_id } = record;
  const { name, role, company, email, tel, mobile, fax } = contactFields;
  return (
    <Page
      title={contact_name}
      intro={client_id === '0' ? 'Contact' : <a href={hrefTo('clients', client_id)}>Contact at a client</a>}
      actions={<Button variant="danger" icon="trash" label="Delete" onClick={() => deletion.startDelete(record)} />}
      calls={[
        {
          description: 'Read this contact',
          method: 'GET',
          path: `/contacts/${contact_id}`,
          sdk: `contacts.get('${contact_id}')`,
        },
      ]}
    >
      <section class="card padded" aria-label="Details">
        <FieldList
          editableResource={contactResource}
          record={record}
          onChange={onChange}
          fields={[name, role, company, buildContactClientField(record, clientsQuery.data), email, tel, mobile, fax]}
        >
          <div>
            <dt>Created</dt>
            <dd>
              <RelativeTime timestamp={record.date_created} />
            </dd>
          </div>
        </FieldList>
      </section>
      {deletion.confirmDialog}
    </Page>
  );
}
