import { Page } from '../../components/page.tsx';
import { ContactList, readContactFilters } from '../../records/contact-list.tsx';
import { toQueryString } from '../../records/record-list.tsx';

export default function ContactsScreen() {
  const filters = readContactFilters();
  const exampleContact = { contact_name: 'Front desk', tel: '+41 44 000 00 00' };
  return (
    <Page
      title="Contacts"
      intro="Whom to speak to, at a client or elsewhere."
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
          body: exampleContact,
          sdk: `contacts.create(${JSON.stringify(exampleContact)})`,
        },
      ]}
    >
      <ContactList />
    </Page>
  );
}
