import assert from 'node:assert/strict';
import { after } from 'node:test';
import { recordOccurrences } from '../../../test/kit/service/occurrences.ts';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const stranger = await carillon.createAccount('other.test');
  const { clients, contacts } = owner.carillon;

  /** Every writable field, with a value other than its default. */
  const everything = {
    contact_name: 'Ada',
    email: 'ada@acme.test',
    tel: '1',
    fax: '2',
    mobile: '3',
    role: 'Founder',
    company_name: 'ACME',
  };

  test('C36 a contact has these fields; missing ones are empty and given ones are returned', async () => {
    const { contact_id, date_created, ...plain } = await contacts.create({ contact_name: 'Plain' });
    assert.match(contact_id, /^\d+$/);
    assert.match(date_created, /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/);
    const blank = Object.fromEntries(Object.keys(everything).map((name) => [name, '']));
    const rest = { client_id: '0', date_modified: '0000-00-00 00:00:00', user_id: owner.userId };
    assert.deepEqual(plain, { ...blank, ...rest, contact_name: 'Plain' });
    const { client_id } = await clients.create({ client_name: 'ACME' });
    const made = await contacts.create({ ...everything, client_id });
    assert.deepEqual(made, { ...made, ...everything, client_id });
    assert.deepEqual(await contacts.get(made.contact_id), made);
    const changed = await contacts.update(contact_id, { ...everything, client_id });
    assert.deepEqual(changed, { ...made, contact_id, date_created, date_modified: changed.date_modified });
    assert.notEqual(changed.date_modified, rest.date_modified);
  });

  test('C36 a list is filtered by client, or to contacts without one', async () => {
    const { client_id } = await clients.create({ client_name: 'Narrow' });
    const { contact_id } = await contacts.create({ contact_name: 'Of it', client_id });
    const { data, paging } = await contacts.list({ client_id });
    assert.deepEqual([data.map((one) => one.contact_id), paging.total_records], [[contact_id], 1]);
    const ofNone = await contacts.list({ client_id: 0 });
    assert.ok(ofNone.data.every((one) => one.client_id === '0'));
  });

  test('C34 C36 a contact stays when its client is deleted', async () => {
    const { client_id } = await clients.create({ client_name: 'Gone' });
    const { contact_id } = await contacts.create({ contact_name: 'Stays', client_id });
    const { recorded } = await recordOccurrences(carillon, owner, () => clients.delete(client_id));
    const user_id = owner.userId;
    assert.deepEqual(recorded, [
      { kind: 'changed_contact', record_id: contact_id, user_id },
      { kind: 'deleted_client', record_id: client_id, user_id },
    ]);
    assert.equal((await contacts.get(contact_id)).client_id, '0');
  });

  test('C3 C36 a client or contact of another account cannot be referred to', async () => {
    const theirs = await stranger.carillon.clients.create({ client_name: 'Theirs' });
    const who = await stranger.carillon.contacts.create({ contact_name: 'Theirs' });
    const unknown = { code: 'not_found' };
    await assert.rejects(contacts.create({ contact_name: 'X', client_id: theirs.client_id }), unknown);
    await assert.rejects(contacts.get(who.contact_id), unknown);
    const { contact_id } = await contacts.create({ contact_name: 'Ours' });
    await assert.rejects(contacts.update(contact_id, { client_id: theirs.client_id }), unknown);
  });
}
