import assert from 'node:assert/strict';
import { after } from 'node:test';
import { recordOccurrences } from '../../../test/kit/service/occurrences.ts';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });

  const NEVER = '0000-00-00 00:00:00';
  const TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;

  /** Every writable field, with a value other than its default. */
  const everything = {
    client_name: 'ACME',
    email: 'bells@acme.test',
    tel: '1',
    fax: '2',
    mobile: '3',
    website: 'https://acme.test',
    address: 'Main Street 1',
    city: 'Aachen',
    state: 'NRW',
    postcode: '52062',
    country: 'Germany',
    notes: 'Line one\nline two',
    background: 'Old',
    active: '2',
  };

  const blank = Object.fromEntries(Object.keys(everything).map((name) => [name, '']));

  test('C29 a client has these fields, every value a string; left out, they are empty', async () => {
    const owner = await carillon.createAccount('fields.test');
    const { status, json } = await carillon.call(owner, 'POST', '/v2/clients', { client_name: ' ACME ' });
    assert.equal(status, 201);
    const { client_id, date_created, ...rest } = json.data;
    const stamps = { contact_id: '0', date_modified: NEVER, user_id: owner.userId };
    assert.deepEqual(rest, { ...blank, client_name: 'ACME', active: '1', ...stamps });
    assert.match(date_created, TIME);
    assert.deepEqual((await carillon.call(owner, 'GET', `/v2/clients/${client_id}`)).json, json);

    const full = await carillon.call(owner, 'POST', '/v2/clients', { ...everything, contact_id: '7' });
    const { client_id: _id, date_created: _at, ...written } = full.json.data;
    assert.deepEqual(written, { ...everything, ...stamps });
  });

  test('C29 changing one field changes no other', async () => {
    const owner = await carillon.createAccount('changes.test');
    const { json } = await carillon.call(owner, 'POST', '/v2/clients', { client_name: 'Before' });
    let wanted = json.data;
    for (const [field, value] of Object.entries(everything)) {
      const path = `/v2/clients/${wanted.client_id}`;
      const { result, recorded } = await recordOccurrences(carillon, owner, () =>
        carillon.call(owner, 'PUT', path, { [field]: value }),
      );
      assert.equal(result.status, 200, field);
      assert.notEqual(result.json.data.date_modified, NEVER);
      wanted = { ...wanted, [field]: value, date_modified: result.json.data.date_modified };
      assert.deepEqual(result.json.data, wanted);
      assert.deepEqual(recorded, [{ kind: 'changed_client', record_id: wanted.client_id, user_id: owner.userId }]);
    }
  });

  test('C29 client_name is required', async () => {
    const owner = await carillon.createAccount('required.test');
    for (const client_name of [undefined, null, '', '  ', 7, 'x'.repeat(256)]) {
      const { status, json } = await carillon.call(owner, 'POST', '/v2/clients', { client_name });
      assert.equal(status, 400);
      assert.deepEqual(
        json.errors.map((error: { field: string }) => error.field),
        ['client_name'],
      );
    }
  });

  test('C29 the filter client_name finds a part of the name, in any case', async () => {
    const owner = await carillon.createAccount('filter.test');
    for (const client_name of ['Ärger & Söhne', 'ärgerlich', 'Acme 100%', 'ACME_B', 'Zed']) {
      await owner.carillon.clients.create({ client_name });
    }
    const named = async (part: string) => {
      const { data } = await owner.carillon.clients.list({ client_name: part });
      return data.map((client) => client.client_name);
    };
    assert.deepEqual(await named('ÄRGER'), ['Ärger & Söhne', 'ärgerlich']);
    assert.deepEqual(await named('acme'), ['Acme 100%', 'ACME_B']);
    // Wildcards of SQL have no special meaning.
    assert.deepEqual(await named('%'), ['Acme 100%']);
    assert.deepEqual(await named('_'), ['ACME_B']);
    assert.deepEqual(await named("'"), []);
    assert.deepEqual(await named('Acme 100% '), ['Acme 100%']);
    for (const wrong of ['', '%20', '%00', 'x'.repeat(256)]) {
      const { status } = await carillon.call(owner, 'GET', `/v2/clients?client_name=${wrong}`);
      assert.equal(status, 400, wrong);
    }
  });

  test('C7 clients are listed by id, ids as numbers', async () => {
    const owner = await carillon.createAccount('order.test');
    for (let number = 1; number <= 12; number += 1) {
      await owner.carillon.clients.create({ client_name: String(number) });
    }
    const { data } = await owner.carillon.clients.list();
    assert.deepEqual(
      data.map((client) => client.client_name),
      Array.from({ length: 12 }, (_, index) => String(index + 1)),
    );
  });

  test('C7 C29 clients are sorted by name without case, or newest first', async () => {
    const owner = await carillon.createAccount('orders.test');
    for (const client_name of ['beta', 'Zeta', 'Älpler', 'Alpha', 'beta'])
      await owner.carillon.clients.create({ client_name });
    const ordered = async (order: 'clientname' | 'latest') =>
      (await owner.carillon.clients.list({ order })).data.map((client) => client.client_name);
    assert.deepEqual(await ordered('clientname'), ['Alpha', 'beta', 'beta', 'Zeta', 'Älpler']);
    assert.deepEqual(await ordered('latest'), ['beta', 'Alpha', 'Älpler', 'Zeta', 'beta']);
    const { status, json } = await carillon.call(owner, 'GET', '/v2/clients?order=name');
    assert.equal(status, 400);
    assert.equal(json.errors[0].field, 'order');
  });

  test('C34 deleting a client sets the client of its projects to "0" and records a change of each', async () => {
    const owner = await carillon.createAccount('cascade.test');
    const gone = await owner.carillon.clients.create({ client_name: 'Gone' });
    const stays = await owner.carillon.clients.create({ client_name: 'Stays' });
    const first = await owner.carillon.projects.create({ project_name: 'First', client_id: gone.client_id });
    const second = await owner.carillon.projects.create({ project_name: 'Second', client_id: gone.client_id });
    const other = await owner.carillon.projects.create({ project_name: 'Other', client_id: stays.client_id });
    assert.equal(first.client_name, 'Gone');

    const { recorded } = await recordOccurrences(carillon, owner, () => owner.carillon.clients.delete(gone.client_id));
    const user_id = owner.userId;
    assert.deepEqual(recorded, [
      { kind: 'changed_project', record_id: first.project_id, user_id },
      { kind: 'changed_project', record_id: second.project_id, user_id },
      { kind: 'deleted_client', record_id: gone.client_id, user_id },
    ]);
    for (const before of [first, second]) {
      const { date_modified, ...rest } = await owner.carillon.projects.get(before.project_id);
      assert.notEqual(date_modified, NEVER);
      assert.deepEqual({ ...rest, date_modified: NEVER }, { ...before, client_id: '0', client_name: '' });
    }
    assert.deepEqual(await owner.carillon.projects.get(other.project_id), other);
    const again = await carillon.call(owner, 'DELETE', `/v2/clients/${gone.client_id}`);
    assert.equal(again.status, 404);
  });
}
