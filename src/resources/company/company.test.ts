import assert from 'node:assert/strict';
import { after } from 'node:test';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });

  test('C35 /v2/company is the caller’s own account, every value a string', async () => {
    const owner = await carillon.createAccount('acme.test');
    const other = await carillon.createAccount('other.test');
    const { status, json } = await carillon.call(owner, 'GET', '/v2/company');
    assert.equal(status, 200);
    const { company_id, date_created, ...rest } = json.data;
    const blank = ['address1', 'address2', 'city', 'state', 'postcode', 'country', 'currency', 'phone'];
    assert.deepEqual(rest, {
      company_name: 'acme.test',
      domain: 'acme.test',
      ...Object.fromEntries(blank.map((name) => [name, ''])),
    });
    assert.match(company_id, /^[1-9]\d*$/);
    assert.match(date_created, /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/);
    const theirs = await carillon.call(other, 'GET', '/v2/company');
    assert.equal(theirs.json.data.domain, 'other.test');
    assert.notEqual(theirs.json.data.company_id, company_id);
  });

  test('C35 the API has no route to change the company', async () => {
    const owner = await carillon.createAccount('read-only.test');
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { status } = await carillon.call(owner, method, '/v2/company', { company_name: 'Mine' });
      assert.equal(status, 404, method);
    }
    assert.equal((await carillon.call(owner, 'GET', '/v2/company')).json.data.company_name, 'read-only.test');
  });
}
