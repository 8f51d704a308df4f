import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after } from 'node:test';
import pg from 'pg';
import { createTestClock } from '../../kit/clock.ts';
import { eventually } from '../../kit/eventually.ts';
import { formatRequest } from '../../kit/network/raw-http.ts';
import { serializeTables } from '../../kit/service/occurrences.ts';
import type { ApiUser } from '../../kit/service/service.ts';
import { sharedStores, sqlite, stores } from '../../kit/service/stores.ts';

const CALLS = 600;

for (const { test, testService, database } of sharedStores) {
  test('C1 C6 concurrent requests with the same key share one lookup', async (t) => {
    const address = await database(t);
    const carillon = await testService(t, { database: address });
    const key = await carillon.createKey(await carillon.createAccount('acme.test'), {});
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

for (const { test, testService } of stores) {
  const carillon = await testService({ after });

  /** A request with an incomplete body. Its caller has been authenticated. */
  type SlowRequest = { finish(): Promise<{ status: number; body: string }> };

  /** Valid bodies of the requests that are tested, by path. */
  const bodies: Readonly<Record<string, object>> = {
    '/v2/keys': { label: 'survivor' },
    '/v2/events': { event_name: 'Launch', start_date: '20270101', due_date: '20270102' },
    '/v2/hooks': { target_url: 'http://127.0.0.1:9/late', event: 'new_event' },
  };

  async function beginRequest(who: ApiUser, path: string): Promise<SlowRequest> {
    const { hostname, port } = new URL(carillon.baseUrl);
    const body = JSON.stringify(bodies[path]);
    // This request fills the caller cache, so that the next request is authenticated before its body arrives.
    await carillon.call(who, 'GET', '/v2/user');
    const socket = connect(Number(port), hostname);
    const closed = once(socket, 'close');
    const lines = ['content-type: application/json', 'expect: 100-continue', 'connection: close'];
    const credentials = [`key: ${who.key}`, `domain: ${who.domain}`, `content-length: ${body.length}`];
    socket.write(formatRequest([`POST ${path} HTTP/1.1`, 'host: x', ...credentials, ...lines], body.slice(0, 5)));
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    await once(socket, 'data');
    assert.match(text, /^HTTP\/1\.1 100 /, 'the caller is authenticated, and the service waits for the body');
    return {
      async finish() {
        socket.write(body.slice(5));
        await closed;
        const [head = '', responseBody = ''] = text.split('\r\n\r\n').slice(1);
        return { status: Number(head.split(' ')[1]), body: responseBody };
      },
    };
  }

  /** Begins a request to each path, runs `meanwhile`, and asserts that all requests are rejected and write nothing. */
  async function assertRejectedAfter(who: ApiUser, meanwhile: () => Promise<unknown>): Promise<void> {
    const slow = await Promise.all(Object.keys(bodies).map((path) => beginRequest(who, path)));
    await meanwhile();
    const before = await serializeTables(carillon);
    for (const [index, path] of Object.keys(bodies).entries()) {
      const { status, body } = (await slow[index]?.finish()) ?? { status: 0, body: '' };
      assert.deepEqual([path, status, JSON.parse(body).code], [path, 401, 'unauthorized']);
      assert.equal(await serializeTables(carillon), before, path);
    }
  }

  test('a slow body of an authorized user is accepted', async () => {
    const owner = await carillon.createAccount('slow.test');
    for (const path of Object.keys(bodies))
      assert.equal((await (await beginRequest(owner, path)).finish()).status, 201, path);
  });

  test('C1 a key that is revoked while its request is arriving writes nothing more', async () => {
    const owner = await carillon.createAccount('revoked.test');
    const { data: keys } = await owner.carillon.keys.list();
    const stolenKey = await carillon.createKey(owner, {});
    await assertRejectedAfter(stolenKey, async () => {
      const { data } = await owner.carillon.keys.list();
      const id = data.map((key) => key.id).find((one) => keys.every((key) => key.id !== one)) ?? '';
      await owner.carillon.keys.revoke(id);
    });
  });

  test('C1 a key that expires while its request is arriving writes nothing more', async (t) => {
    let now = Date.parse('2027-01-01T00:00:00Z');
    t.mock.method(Date, 'now', () => now);
    const owner = await carillon.createAccount('expired.test');
    const hour = await carillon.createKey(owner, { expiresAt: now + 3_600_000 });
    await assertRejectedAfter(hour, async () => {
      now += 3_600_000;
    });
  });

  test('C23 a user who is deleted while their request is arriving writes nothing more', async () => {
    const owner = await carillon.createAccount('deleted.test');
    const admin = await carillon.createUser(owner, 'admin');
    await assertRejectedAfter(admin, () => owner.carillon.users.delete(admin.userId));
  });

  test('C2 a role that is reduced while a request is arriving no longer authorizes it', async () => {
    const owner = await carillon.createAccount('shrunk.test');
    const admin = await carillon.createUser(owner, 'admin');
    await assertRejectedAfter(admin, () => owner.carillon.users.update(admin.userId, { role: 'member' }));
  });

  test('X7 a key that is narrowed while a request is arriving no longer authorizes it', async () => {
    const owner = await carillon.createAccount('narrowed.test');
    const wide = await carillon.createKey(owner, {});
    const { data: keys } = await owner.carillon.keys.list();
    await assertRejectedAfter(wide, () => owner.carillon.keys.update(keys.at(-1)?.id ?? '', { permissions: [] }));
  });

  test('C23 a user who is deleted concurrently with the creation of their hook has no live hook afterwards', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    for (let round = 1; round <= 25; round += 1) {
      const member = await carillon.createUser(owner, 'member');
      // This request fills the caller cache, so that only the check in the transaction can reject the next request.
      await member.carillon.user.get();
      const hook = { target_url: `http://127.0.0.1:9/${round}`, event: 'new_event' as const };
      const [, created] = await Promise.allSettled([
        owner.carillon.users.delete(member.userId),
        member.carillon.hooks.create(hook),
      ]);
      const live = await carillon.store.read
        .selectFrom('hooks')
        .innerJoin('users', 'users.user_id', 'hooks.user_id')
        .where('hooks.date_ended', 'is', null)
        .where('users.date_deleted', 'is not', null)
        .select('hooks.hook_id')
        .execute();
      assert.deepEqual(live, [], `round ${round}: the hook was ${created.status}`);
    }
  });
}

for (const { test, testService, database } of sharedStores) {
  test('C1 with listen=off, a key revoked at one node still reads for 50 ms at another, and no longer', async (t) => {
    const address = `${await database(t)}?listen=off`;
    const one = await testService(t, { database: address });
    const clock = createTestClock();
    const other = await testService(t, { database: address, deps: { clock } });
    const owner = await one.createAccount('acme.test');
    const member = await one.createUser(owner, 'member');
    const reads = async () => (await other.call(member, 'GET', '/v2/user')).status;
    assert.equal(await reads(), 200);
    const { data } = await owner.carillon.keys.list({ user_id: member.userId });
    await owner.carillon.keys.revoke(data[0]?.id ?? '');
    assert.equal(await reads(), 200, 'the caller is cached');
    await clock.advance(50);
    assert.equal(await reads(), 401);
  });
}

const { test, testService } = sqlite;

test('C1 above a limit per address, wrong keys are delayed before the same 401; good keys and other addresses are not', async (t) => {
  const carillon = await testService(t, { options: { wrongKeys: '2/h', trustProxy: '127.0.0.1' } });
  const owner = await carillon.createAccount('acme.test');
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
  // Not delayed: a valid key from the same address, cached or not, a request without a key, and a wrong key from
  // another address.
  for (const one of [owner, await carillon.createKey(owner, {})])
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
