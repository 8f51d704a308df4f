import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';

const { test, testService } = sqlite;

const limited = await testService(
  { after },
  {
    options: {
      rateLimitKeyReads: '3/h',
      rateLimitKeyWrites: '2/h',
      rateLimitAccountReads: '5/h',
      metricsToken: 'of-this-test-alone',
    },
  },
);
const client = { client_name: 'ACME' };

test('reads and writes of a key are limited, and headers contain the remaining calls and the reset time', async () => {
  const owner = await limited.createAccount('acme.test');
  const policy = '"key-reads";q=3;w=3600, "account-reads";q=5;w=3600';
  for (const [left, ofAccount] of [
    [2, 4],
    [1, 3],
    [0, 2],
  ]) {
    const { status, headers } = await limited.call(owner, 'GET', '/v2/user');
    assert.deepEqual([status, headers.get('ratelimit-policy')], [200, policy]);
    assert.match(
      String(headers.get('ratelimit')),
      new RegExp(`^"key-reads";r=${left};t=\\d+, "account-reads";r=${ofAccount};t=\\d+$`),
    );
  }
  const refused = await limited.call(owner, 'GET', '/v2/events');
  assert.deepEqual([refused.status, refused.json.code], [429, 'rate_limited']);
  assert.match(String(refused.headers.get('content-type')), /^application\/problem\+json/);
  assert.match(String(refused.headers.get('ratelimit')), /^"key-reads";r=0;t=3\d{3}, "account-reads";r=2;t=\d+$/);
  const retryAfter = Number(refused.headers.get('retry-after'));
  assert.ok(retryAfter > 1_100 && retryAfter <= 1_200, `${retryAfter}: a third of an hour`);

  // Writes have their own budget, and rejected calls do not count for the account.
  for (const status of [201, 201, 429])
    assert.equal((await limited.call(owner, 'POST', '/v2/clients', client)).status, status);
  assert.equal((await limited.store.read.selectFrom('clients').select('client_id').execute()).length, 2);
});

test('the keys of an account share its limit; a session counts only for the account', async () => {
  const owner = await limited.createAccount('several.test');
  const session = await limited.signIn(owner);
  const others = [await limited.createKey(owner, {}), await limited.createKey(owner, {})];
  const statuses: number[] = [];
  for (const who of [owner, session, session, session, session, ...others]) {
    const path = who === session ? '/console/api/user' : '/v2/user';
    statuses.push((await limited.call(who, 'GET', path)).status);
  }
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429, 429]);
  const stranger = await limited.createAccount('stranger.test');
  assert.equal((await limited.call(stranger, 'GET', '/v2/user')).status, 200, 'another account has its own');
});

test('invalid calls and unknown paths count after authentication, and a wrong key uses no budget', async () => {
  const owner = await limited.createAccount('counted.test');
  for (let count = 0; count < 10; count += 1) {
    const wrong = { headers: { ...owner.headers, key: `carillon_${'x'.repeat(43)}` } };
    const { status, headers } = await limited.call(wrong, 'GET', '/v2/user');
    assert.deepEqual([status, headers.get('ratelimit')], [401, null]);
  }
  const statuses: number[] = [];
  for (const path of ['/v2/nothing', '/v2/events/1', '/v2/events?limit=x', '/v2/user'])
    statuses.push((await limited.call(owner, 'GET', path)).status);
  assert.deepEqual(statuses, [404, 404, 400, 429]);
});

test('a read of a calendar counts for its account', async () => {
  const owner = await limited.createAccount('calendar.test');
  const { url } = await owner.carillon.calendars.create({ scope: 'own' });
  const statuses: number[] = [];
  for (let count = 0; count < 6; count += 1) statuses.push((await fetch(url)).status);
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429]);
});

test('rate-limited responses beyond twenty a second are delayed, also for calendars and only for that account', async (t) => {
  const clock = createTestClock();
  const slow = await testService(t, { deps: { clock }, options: { rateLimitAccountReads: '1/h' } });
  const [noisy, other] = [await slow.createAccount('noisy.test'), await slow.createAccount('other.test')];
  const urls: string[] = [];
  for (const { carillon } of [noisy, other]) urls.push((await carillon.calendars.create({ scope: 'own' })).url);
  const [noisyUrl = '', otherUrl = ''] = urls;
  const statusOf = async (url: string) => (await fetch(url)).status;
  assert.equal(await statusOf(noisyUrl), 200);
  for (let count = 0; count < 20; count += 1) assert.equal(await statusOf(noisyUrl), 429);
  let answered = 0;
  const held = [statusOf(noisyUrl), slow.call(noisy, 'GET', '/v2/user').then(({ status }) => status)].map((one) =>
    one.finally(() => {
      answered += 1;
    }),
  );
  assert.deepEqual([await statusOf(otherUrl), await statusOf(otherUrl)], [200, 429], 'nor does its calendar');
  assert.equal(answered, 0, 'they wait still');
  await clock.advance(1_000);
  assert.deepEqual(await Promise.all(held), [429, 429]);
});

test('the OpenAPI document has 429 where it can occur, and the metrics count rejected calls', async (t) => {
  const answersOf = async (baseUrl: string, path: string, method: string) => {
    const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { responses: Record<string, { headers?: object }> }>>;
    };
    return document.paths[path]?.[method]?.responses ?? {};
  };
  for (const [path, method] of [
    ['/v2/events', 'get'],
    ['/v2/events', 'post'],
    ['/v2/notifications', 'get'],
  ] as const)
    assert.ok('429' in (await answersOf(limited.baseUrl, path, method)), `${method} ${path}`);
  assert.ok('RateLimit' in ((await answersOf(limited.baseUrl, '/v2/user', 'get'))['200']?.headers ?? {}));
  const half = await testService(t, { options: { rateLimitAccountWrites: '100/s' } });
  assert.ok(!('429' in (await answersOf(half.baseUrl, '/v2/events', 'get'))));
  assert.ok('429' in (await answersOf(half.baseUrl, '/v2/events', 'post')));
  const owner = await half.createAccount('acme.test');
  assert.equal((await half.call(owner, 'GET', '/v2/user')).headers.get('ratelimit'), null);

  const metrics = await fetch(`${limited.baseUrl}/metrics`, {
    headers: { authorization: 'Bearer of-this-test-alone' },
  });
  const text = await metrics.text();
  for (const limit of ['key-reads', 'key-writes', 'account-reads'])
    assert.match(text, new RegExp(`carillon_requests_rate_limited_total\\{limit="${limit}"\\} [1-9]`));
});

test('a call with an unparsable URL counts like any other', async () => {
  const owner = await limited.createAccount('unreadable.test');
  const statuses: number[] = [];
  for (const path of ['/v2/%zz', '/v2/%zz', '/v2/user', '/v2/%zz']) {
    statuses.push((await limited.call(owner, 'GET', path)).status);
  }
  assert.deepEqual(statuses, [404, 404, 200, 429]);
});
