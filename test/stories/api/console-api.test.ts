import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Route } from '../../../src/http/routes/route.ts';
import { createOneOfEach } from '../../kit/api/furnished-account.ts';
import { apiRoutes, consoleOnlyRoutes } from '../../kit/api/routes.ts';
import { eventually } from '../../kit/eventually.ts';
import { sendRawRequest } from '../../kit/network/raw-http.ts';
import { startTarget } from '../../kit/network/target.ts';
import { serializeTables } from '../../kit/service/occurrences.ts';
import { stores } from '../../kit/service/stores.ts';

const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const ownSession = await carillon.signIn(owner);
  const otherUser = await carillon.signIn(await carillon.createAccount('other.test'));
  const target = await startTarget({ after });
  let hooks = 0;
  const ids = await createOneOfEach(owner, carillon, () => {
    hooks += 1;
    return target.urlOf(`/${hooks}`);
  });
  // Wait until the hook test has finished, so that nothing changes in the background afterwards.
  await eventually(
    () => owner.carillon.deliveries.get(ids.delivery_id),
    ({ state }) => state !== 'pending',
  );

  const pathOf = (row: Route, idOf: (name: string) => string) =>
    row.path.replace(/\{(\w+)\}/g, (_, name: string) => idOf(name));

  const bodyFor = (row: Route) => (row.method === 'GET' ? undefined : {});

  test('C1 a session authenticates as its user; key and domain headers are ignored', async () => {
    const user = await ownSession.console.user.get();
    assert.equal(user.user_id, owner.userId);
    const { json } = await carillon.call(ownSession, 'GET', '/console/api/user', undefined, {
      key: 'nonsense',
      domain: otherUser.domain,
    });
    assert.equal(json.data.user_id, owner.userId, 'a key is ignored');
    const event = await ownSession.console.events.create({
      event_name: 'Bells',
      start_date: '20270101',
      due_date: '20270101',
    });
    assert.equal((await owner.carillon.events.get(event.event_id)).user_id, owner.userId);
    const member = await carillon.signIn(await carillon.createUser(owner, 'member'));
    const refused = await carillon.call(member, 'POST', '/console/api/users', { email: 'x@acme.test' });
    assert.deepEqual([refused.status, refused.json.code], [401, 'not_permitted']);
    assert.match(refused.json.detail, /^Your role lacks the permission users:write\.$/);
    assert.equal(refused.headers.get('www-authenticate'), 'Session realm="carillon"');
  });

  test('C1 a cookie never authenticates /v2, not even next to a key', async () => {
    for (const row of apiRoutes) {
      const { status, json, headers } = await carillon.call(
        ownSession,
        row.method,
        `/v2${pathOf(row, () => '1')}`,
        bodyFor(row),
      );
      assert.deepEqual([status, json.code], [401, 'unauthorized'], `${row.method} ${row.path}`);
      assert.equal(headers.get('www-authenticate'), 'Key realm="carillon"');
    }
    const both = { ...otherUser.headers, ...owner.headers };
    assert.equal((await carillon.call({ headers: both }, 'GET', '/v2/user')).json.data.user_id, owner.userId);
    for (const row of consoleOnlyRoutes) {
      const { status } = await carillon.call(owner, row.method, `/v2${pathOf(row, () => '1')}`, bodyFor(row));
      assert.equal(status, 404, `${row.method} ${row.path} is not in the API route group`);
    }
  });

  const cookie = { cookie: ownSession.headers.cookie ?? '' };
  const origin = new URL(carillon.baseUrl).origin;

  test('requests that change something must come from the console, by Sec-Fetch-Site or Origin', async () => {
    const post = (headers: Record<string, string>) =>
      carillon.call({ headers: { ...cookie, ...headers } }, 'POST', '/console/api/clients', { client_name: 'A' });
    assert.equal((await post(SAME_ORIGIN)).status, 201);
    assert.equal((await post({ origin })).status, 201, 'a browser without Sec-Fetch-Site');
    assert.equal(
      (await post({ ...SAME_ORIGIN, origin: 'http://localhost:5173' })).status,
      201,
      'Sec-Fetch-Site has priority',
    );
    const before = await serializeTables(carillon);
    const foreign: Record<string, string>[] = [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': '' },
      { 'sec-fetch-site': 'cross-site', origin },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `${origin}.evil.example` },
      { origin: origin.replace(/\d+$/, '1') },
    ];
    for (const headers of foreign) {
      const { status, json } = await post(headers);
      assert.deepEqual([status, json.code], [403, 'cross_origin'], JSON.stringify(headers));
      assert.ok(json.detail.includes(`${carillon.baseUrl}/`), 'the detail names the address of the console');
    }
    for (const method of ['PUT', 'DELETE'] as const) {
      const { status } = await carillon.call({ headers: cookie }, method, `/console/api/events/${ids.event_id}`, {});
      assert.equal(status, 403, method);
    }
    assert.equal(await serializeTables(carillon), before);
  });

  test('GET requests may come from the address bar, but not from another page', async () => {
    for (const [headers, wanted] of [
      [SAME_ORIGIN, 200],
      [{ 'sec-fetch-site': 'none' }, 200],
      [{}, 200],
      [{ origin }, 200],
      // A page on another port, in a browser without Sec-Fetch-Site or on plain http.
      [{ origin: origin.replace(/\d+$/, '1') }, 403],
      [{ origin: 'null' }, 403],
      [{ 'sec-fetch-site': 'same-site' }, 403],
      [{ 'sec-fetch-site': 'cross-site' }, 403],
    ] as const) {
      for (const method of ['GET', 'HEAD']) {
        const { status } = await carillon.call({ headers: { ...cookie, ...headers } }, method, '/console/api/user');
        assert.equal(status, wanted, `${method} ${JSON.stringify(headers)}`);
      }
    }
    const twice = ['GET /console/api/user HTTP/1.1', 'host: x', `cookie: ${cookie.cookie}`];
    const sites = ['sec-fetch-site: same-origin', 'sec-fetch-site: cross-site'];
    assert.equal((await sendRawRequest(carillon.baseUrl, [...twice, ...sites])).status, 403);
  });

  test('C4 an unknown path or method is rejected like a known one, and is 404 for a signed-in user', async () => {
    const lines = [
      'GET /console/api',
      'GET /console/api/nothing',
      'GET /console/api/%zz',
      'POST /console/api/user',
      'FROB /console/api/user',
    ];
    for (const line of lines) {
      const send = (...headers: string[]) =>
        sendRawRequest(carillon.baseUrl, [`${line} HTTP/1.1`, 'host: x', ...headers]);
      const foreign = await send('sec-fetch-site: cross-site', `cookie: ${cookie.cookie}`);
      assert.deepEqual([foreign.status, JSON.parse(foreign.body).code], [403, 'cross_origin'], line);
      const without = await send('sec-fetch-site: same-origin');
      assert.deepEqual([without.status, JSON.parse(without.body).code], [401, 'signed_out'], line);
      assert.match(without.head, /^www-authenticate: Session realm="carillon"$/im, line);
      const known = await send('sec-fetch-site: same-origin', `cookie: ${cookie.cookie}`);
      assert.deepEqual([known.status, JSON.parse(known.body).code], [404, 'not_found'], line);
    }
  });

  test('an origin that may call the API may not call the console', async (t) => {
    const APP = 'https://app.example';
    const open = await testService(t, { options: { corsOrigins: APP } });
    const visitor = await open.signIn(await open.createAccount('acme.test'));
    const headers = { cookie: visitor.headers.cookie ?? '', origin: APP };
    const posted = await open.call({ headers }, 'POST', '/console/api/clients', { client_name: 'A' });
    assert.deepEqual([posted.status, posted.json.code], [403, 'cross_origin']);
    const read = await open.call(
      { headers: { ...headers, 'sec-fetch-site': 'cross-site' } },
      'GET',
      '/console/api/user',
    );
    assert.equal(read.status, 403);
    assert.equal(read.headers.get('access-control-allow-credentials'), null);
  });

  test('X4 an Idempotency-Key belongs to an API key: the console ignores it', async () => {
    const twice = () =>
      carillon.call(ownSession, 'POST', '/console/api/clients', { client_name: 'Twice' }, { 'idempotency-key': 'one' });
    const [first, second] = [await twice(), await twice()];
    assert.deepEqual([first.status, second.status], [201, 201]);
    assert.notEqual(first.json.data.client_id, second.json.data.client_id);
    assert.deepEqual(await carillon.store.read.selectFrom('idempotency').selectAll().execute(), []);
  });

  test('C8 a record created in the console has its Location there, and responses are not stored by caches', async () => {
    const made = await carillon.call(ownSession, 'POST', '/console/api/clients', { client_name: 'New' });
    const path = `/console/api/clients/${made.json.data.client_id}`;
    assert.equal(made.headers.get('location'), carillon.baseUrl + path);
    assert.equal(made.headers.get('cache-control'), 'no-store');
    const read = await carillon.call(ownSession, 'GET', path);
    assert.equal(read.headers.get('cache-control'), 'private, no-cache', 'a browser may revalidate its copy');
    const again = await carillon.call(ownSession, 'GET', path, undefined, {
      'if-none-match': read.headers.get('etag') ?? '',
    });
    assert.equal(again.status, 304);
  });

  test('no response of the console can be framed, embedded or interpreted as another type', async () => {
    const requests: [string, string, number, unknown?][] = [
      ['GET', '/console/api/user', 200],
      ['GET', '/console/api/events', 200],
      ['GET', '/console/api/nothing', 404],
      ['POST', '/console/invitation', 404, { token: 'x' }],
      ['DELETE', '/console/session', 200],
    ];
    const visitor = await carillon.signIn(owner);
    for (const [method, path, status, body] of requests) {
      const response = await carillon.call(visitor, method, path, body);
      assert.equal(response.status, status, path);
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff', path);
      assert.equal(response.headers.get('cross-origin-resource-policy'), 'same-origin', path);
      assert.equal(response.headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'", path);
    }
    const refused = await carillon.call(undefined, 'GET', '/console/api/user', undefined, {
      'sec-fetch-site': 'cross-site',
    });
    assert.deepEqual([refused.status, refused.headers.get('cross-origin-resource-policy')], [403, 'same-origin']);
  });

  test('X7 a key issued in the console outlives the session and has the permissions of the role', async () => {
    const { id, expires, permissions } = await ownSession.console.keys.create({ label: 'from the console' });
    assert.equal(expires, '0000-00-00 00:00:00');
    assert.equal(permissions.length, 16);
    const entry = await carillon.store.read
      .selectFrom('audit')
      .select(['key_id', 'user_id', 'source'])
      .where('subject', '=', `key ${id}`)
      .executeTakeFirstOrThrow();
    assert.deepEqual({ ...entry }, { key_id: 0, user_id: Number(owner.userId), source: '127.0.0.1' });
  });

  test('denied requests are in the audit log, with the user', async () => {
    const members = [await carillon.createUser(owner, 'member'), await carillon.createUser(owner, 'member')];
    for (const member of members) {
      const { status } = await carillon.call(await carillon.signIn(member), 'GET', '/console/api/invitations');
      assert.equal(status, 401);
    }
    const deniedEntries = () =>
      carillon.store.read
        .selectFrom('audit')
        .select(['user_id', 'key_id', 'subject'])
        .where('action', '=', 'denied.not_permitted')
        .where('subject', '=', 'GET /console/api/invitations')
        .orderBy('user_id')
        .execute();
    const rows = await eventually(deniedEntries, (all) => all.length >= 2, 10_000);
    assert.deepEqual(
      rows.map(({ user_id, key_id }) => [String(user_id), key_id]),
      members.map(({ userId }) => [userId, 0]),
    );
  });

  test('the log contains the session id and never its token', async () => {
    await ownSession.console.user.get();
    const line = carillon.logged.findLast(({ route }) => route === '/console/api/user');
    const [session] = (await ownSession.console.sessions.list()).data.filter(({ current }) => current === '1');
    assert.deepEqual([line?.session_id, line?.key_id], [Number(session?.id), undefined]);
    for (const token of [ownSession.token, otherUser.token])
      assert.ok(!JSON.stringify(carillon.logged).includes(token));
  });
}
