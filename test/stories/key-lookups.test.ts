import assert from 'node:assert/strict';
import pg from 'pg';
import { shared } from '../kit/stores.ts';

const CALLS = 600;

for (const { test, testService, database } of shared) {
  test('C1 C6 concurrent requests with the same key share one lookup', async (t) => {
    const address = await database(t);
    const carillon = await testService(t, { database: address });
    const key = await carillon.key(await carillon.account('acme.test'), {});
    const locking = new pg.Client({ connectionString: address });
    await locking.connect();
    // The table lock delays the lookup until all requests have arrived.
    await locking.query('begin; lock table api_keys in access exclusive mode');
    const calls = Array.from({ length: CALLS }, () => carillon.call(key, 'GET', '/v2/user'));
    // Connections are accepted in order, so all earlier requests have arrived.
    assert.equal((await fetch(`${carillon.baseUrl}/healthz`)).status, 200);
    await locking.query('rollback');
    await locking.end();
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    assert.deepEqual([...new Set(statuses)], [200]);
  });
}
