import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { eventually } from '../kit/eventually.ts';
import { sqlite } from '../kit/stores.ts';

const { test, testService } = sqlite;

test('C1 above a limit per address, wrong keys are delayed before the same 401; good keys and other addresses are not', async (t) => {
  const carillon = await testService(t, { options: { wrongKeys: '2/h', trustProxy: '127.0.0.1' } });
  const owner = await carillon.account('acme.test');
  const from = (address: string, key = owner.key) => ({
    headers: { ...owner.headers, key, 'x-forwarded-for': address },
  });
  const wrong = `carillon_${'x'.repeat(43)}`;
  const first = await carillon.call(from('2001:db8::1', wrong), 'GET', '/v2/user');
  assert.equal((await carillon.call(from('2001:db8::2', wrong), 'GET', '/v2/none/such')).status, 401);

  let responses = 0;
  const delayed = [3, 4, 5].map((last) =>
    carillon.call(from(`2001:db8::${last}`, wrong), 'GET', '/v2/user').finally(() => {
      responses += 1;
    }),
  );
  await eventually(
    () => carillon.store.read.selectFrom('audit').select('action').where('action', 'like', 'denied%').execute(),
    (rows) => rows.length > 0,
  );
  // A good key that is not cached, from the same address; no key; and a wrong key from another address.
  for (const one of [owner, await carillon.key(owner, {})])
    assert.equal((await carillon.call(from('2001:db8::3', one.key), 'GET', '/v2/user')).status, 200);
  const keyless = { headers: { 'x-forwarded-for': '2001:db8::3' } };
  assert.equal((await carillon.call(keyless, 'GET', '/v2/user')).status, 401);
  assert.equal((await carillon.call(from('2001:db8:0:1::1', wrong), 'GET', '/v2/user')).status, 401);
  assert.equal(responses, 0, 'the wrong keys still wait');

  // A client that disconnects frees its slot, and a stop does not wait for delayed requests.
  const { hostname, port } = new URL(carillon.baseUrl);
  const disconnected = connect(Number(port), hostname);
  disconnected.write(
    `GET /v2/user HTTP/1.1\r\nhost: x\r\nkey: ${wrong}\r\ndomain: acme.test\r\nx-forwarded-for: 2001:db8::6\r\n\r\n`,
  );
  disconnected.destroy();
  await carillon.stop();
  for (const { status, text } of await Promise.all(delayed)) assert.deepEqual([status, text], [401, first.text]);
});
