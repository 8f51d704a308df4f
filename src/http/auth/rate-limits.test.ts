import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';
import { Tarpit } from '../errors/tarpit.ts';
import { TokenBuckets } from './rate-limits.ts';

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

test('a full bucket allows a burst, then one call for each refilled token', async () => {
  const clock = createTestClock();
  const buckets = new TokenBuckets<string>({ count: 3, windowSeconds: 60 }, clock);
  for (const left of [3, 2, 1]) {
    assert.deepEqual([buckets.levelOf('a').availableTokens, buckets.levelOf('a').waitMs], [left, 0]);
    buckets.takeToken('a');
  }
  assert.deepEqual(buckets.levelOf('a'), { availableTokens: 0, waitMs: 20_000, untilFullMs: 60_000 });
  assert.equal(buckets.levelOf('b').availableTokens, 3, 'another one is as full as ever');
  await clock.advance(19_999);
  assert.equal(buckets.levelOf('a').availableTokens, 0);
  await clock.advance(1);
  assert.deepEqual(buckets.levelOf('a'), { availableTokens: 1, waitMs: 0, untilFullMs: 40_000 });
  await clock.advance(10 * 60_000);
  assert.deepEqual(
    buckets.levelOf('a'),
    { availableTokens: 3, waitMs: 0, untilFullMs: 0 },
    'and never more than it holds',
  );
});

test('beyond 50,000 buckets only the least recently used one is evicted', () => {
  const buckets = new TokenBuckets<number>({ count: 1, windowSeconds: 60 }, createTestClock());
  for (let name = 0; name < 50_000; name += 1) buckets.takeToken(name);
  buckets.takeToken(0);
  buckets.takeToken(50_000);
  assert.deepEqual(
    [0, 1, 2].map((name) => buckets.levelOf(name).availableTokens),
    [0, 1, 0],
  );
});

test('rejections beyond the rate are delayed up to the maximum, and other names are not', async () => {
  const clock = createTestClock();
  const tarpit = new Tarpit<string>({ clock, rate: { count: 2, windowSeconds: 2 }, maxDelayMs: 3_000 });
  const answered: number[] = [];
  const hold = (number: number, name = 'a') => {
    const waiting = tarpit.delay(name, () => undefined);
    void waiting?.then(() => answered.push(number));
    return waiting === undefined;
  };
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8].map((number) => hold(number)),
    [true, true, ...Array(6).fill(false)],
  );
  assert.ok(hold(9, 'b'));
  await clock.advance(1_000);
  assert.deepEqual(answered, [3]);
  await clock.advance(1_000);
  assert.deepEqual(answered, [3, 4]);
  await clock.advance(1_000);
  assert.deepEqual(answered, [3, 4, 5, 6, 7, 8], 'no delay is longer');
  assert.deepEqual(clock.remainingDelaysMs, []);
});

test('at most a thousand responses are delayed; a disconnect or a stop ends the delay', () => {
  const clock = createTestClock();
  const slowdown = new Tarpit<string>({ clock, rate: { count: 1, windowSeconds: 60 }, maxDelayMs: 10_000 });
  const ends: (() => void)[] = [];
  const isHeld = () => slowdown.delay('a', (end) => ends.push(end)) !== undefined;
  assert.equal(isHeld(), false);
  for (let number = 0; number < 1_000; number += 1) assert.equal(isHeld(), true);
  assert.equal(isHeld(), false, 'there is no room to wait');
  ends[0]?.();
  assert.equal(isHeld(), true);
  slowdown.stop();
  assert.deepEqual(clock.remainingDelaysMs, []);
});
