import { Page } from '../../components/page.tsx';
import { ContactList, contactFilters } from '../../records/contact-list.tsx';
import { toQueryString } from '../../records/record-list.tsx';

export default function Contacts() {
  const filters = contactFilters();
  const example = { contact_name: 'Front desk', tel: '+41 44 000 00 00' };
  return (
    <Page
      title="Contacts"
      lead="Whom to speak to, at a client or elsewhere."
      calls={[
        {
          description: 'List these contacts',
          method: 'GET',
          path: `/contacts?${toQueryString(filters)}`,
          sdk: `contacts.list(${JSON.stringify(filters)})`,
        },
        {
          description: 'Add a contact',
          method: 'POST',
          path: '/contacts',
          body: example,
          sdk: `contacts.create(${JSON.stringify(example)})`,
        },
      ]}
    >
      <ContactList />
    </Page>
  );
}
