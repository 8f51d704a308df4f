import assert from 'node:assert/strict';
import pg from 'pg';
import { shared } from '../kit/stores.ts';

const CALLS = 600;

for (const { test, testService, database } of shared) {
  test('C1 C6 requests that show the same key while it is looked up are all answered from that lookup', async (t) => {
    const address = await database(t);
    const carillon = await testService(t, { database: address });
    const key = await carillon.key(await carillon.account('acme.test'), {});
    const locking = new pg.Client({ connectionString: address });
    await locking.connect();
    // No lookup ends before all requests have arrived.
    await locking.query('begin; lock table api_keys in access exclusive mode');
    const calls = Array.from({ length: CALLS }, () => carillon.call(key, 'GET', '/v2/user'));
    // Connections are accepted in order: the calls before it have arrived.
    assert.equal((await fetch(`${carillon.baseUrl}/healthz`)).status, 200);
    await locking.query('rollback');
    await locking.end();
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    assert.deepEqual([...new Set(statuses)], [200]);
  });
}
