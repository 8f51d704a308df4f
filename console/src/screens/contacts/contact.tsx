import type { Contact } from '../../../../packages/sdk/src/contacts.ts';
import { client } from '../../client.ts';
import { Button } from '../../design/button.tsx';
import { Page } from '../../design/page.tsx';
import { Moment } from '../../moments.tsx';
import { useClients } from '../../plan/choices.ts';
import { contactFacts, contacts, spokenFor } from '../../plan/contact-facts.tsx';
import { useDelete } from '../../plan/deleting.tsx';
import { Facts } from '../../plan/facts.tsx';
import { RecordPage } from '../../plan/record-page.tsx';
import { go, type RecordProps, to } from '../../router.ts';
import '../../plan/plan.css';

/** One contact: how to reach them, and whom they speak for. */
export default function ContactPage({ id }: RecordProps) {
  return (
    <RecordPage noun={client.contacts} id={id} title="Contact" all="contacts">
      {(record, onChange) => <OneContact record={record} onChange={onChange} />}
    </RecordPage>
  );
}

function OneContact({ record, onChange }: { readonly record: Contact; readonly onChange: (record: Contact) => void }) {
  const clients = useClients();
  const deleting = useDelete(contacts, {
    onGone: () => go(to('contacts')),
    onBack: ({ contact_id }) => go(to('contacts', contact_id)),
  });
  const { contact_id, contact_name, client_id } = record;
  const { name, role, company, email, tel, mobile, fax } = contactFacts;
  return (
    <Page
      title={contact_name}
      lead={client_id === '0' ? 'Contact' : <a href={to('clients', client_id)}>Contact at a client</a>}
      actions={<Button look="danger" icon="trash" label="Delete" onClick={() => deleting.begin(record)} />}
      calls={[
        {
          says: 'Read this contact',
          method: 'GET',
          path: `/contacts/${contact_id}`,
          sdk: `contacts.get('${contact_id}')`,
        },
      ]}
    >
      <section class="card padded" aria-label="Details">
        <Facts
          kept={contacts}
          record={record}
          onChange={onChange}
          facts={[name, role, company, spokenFor(record, clients.data), email, tel, mobile, fax]}
        >
          <div>
            <dt>Created</dt>
            <dd>
              <Moment at={record.date_created} />
            </dd>
          </div>
        </Facts>
      </section>
      {deleting.question}
    </Page>
  );
}
