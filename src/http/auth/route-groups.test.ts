import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { after } from 'node:test';
import { sendRawRequest } from '../../../test/kit/network/raw-http.ts';
import type { TestService } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { problems } from '../../problems.ts';

for (const { test, testService } of stores) {
  const TOKEN = 'a-token-of-sixteen-and-more';
  const APP = 'https://app.example';
  /** The numeric level of a warning in the log. */
  const WARN = 40;

  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const open = await testService({ after }, { options: { corsOrigins: `${APP},http://localhost:5173` } });
  const resident = await open.createAccount('acme.test');

  const sendRequest = (service: TestService, path: string, headers: Record<string, string> = {}, method = 'GET') =>
    service.call(undefined, method, path, undefined, headers);

  test('X6 the OpenAPI document, liveness, readiness and problems need no key', async () => {
    assert.deepEqual((await sendRequest(carillon, '/healthz')).json, { status: 'alive' });
    assert.deepEqual((await sendRequest(carillon, '/readyz')).json, { status: 'ready' });
    const document = await sendRequest(carillon, '/openapi.json');
    assert.deepEqual([document.status, document.json.openapi], [200, '3.1.0']);
    assert.equal(document.json.servers[0].url, carillon.baseUrl);
  });

  test('C6 the type of every problem is a URL that explains it', async () => {
    const refused = await sendRequest(carillon, '/v2/user');
    assert.equal(refused.json.type, `${carillon.baseUrl}/problems/unauthorized`);
    for (const [code, { status, title, detail }] of Object.entries(problems)) {
      const page = await sendRequest(carillon, `/problems/${code}`);
      assert.deepEqual([page.status, page.json], [200, { code, status, title, detail }], code);
    }
    for (const code of ['nothing', 'toString', '__proto__', ''])
      assert.equal((await sendRequest(carillon, `/problems/${code}`)).status, 404, code);
  });

  /** The CORS headers of a response, and `Vary`. */
  const corsHeadersOf = ({ headers }: { headers: Headers }) =>
    Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'));

  test('X6 CORS is off by default: no CORS headers, and a preflight is a call without a key', async () => {
    const preflight = await sendRequest(
      carillon,
      '/v2/events',
      { origin: APP, 'access-control-request-method': 'POST' },
      'OPTIONS',
    );
    assert.deepEqual([preflight.status, preflight.json.code], [401, 'unauthorized']);
    assert.deepEqual(corsHeadersOf(preflight), {});
    const called = await carillon.call(owner, 'GET', '/v2/user', undefined, { origin: APP });
    assert.deepEqual([called.status, corsHeadersOf(called)], [200, {}]);
  });

  test('X6 with CARILLON_CORS_ORIGINS a preflight needs no key, for the configured origins and no others', async () => {
    const asking = {
      origin: APP,
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'key,domain,content-type',
    };
    const preflight = await sendRequest(open, '/v2/events/1', asking, 'OPTIONS');
    assert.equal(preflight.status, 204);
    const corsHeadersSent = corsHeadersOf(preflight);
    assert.equal(corsHeadersSent['access-control-allow-origin'], APP);
    assert.equal(corsHeadersSent['access-control-allow-methods'], 'GET, HEAD, POST, PUT, DELETE');
    for (const name of ['key', 'domain', 'content-type'])
      assert.match(String(corsHeadersSent['access-control-allow-headers']), new RegExp(`\\b${name}\\b`));
    assert.equal(corsHeadersSent['access-control-allow-credentials'], undefined);

    const elsewhere = await sendRequest(open, '/v2/events/1', { ...asking, origin: 'https://evil.example' }, 'OPTIONS');
    assert.deepEqual([elsewhere.status, corsHeadersOf(elsewhere)], [401, { vary: 'origin' }]);
  });

  test('X6 a page of a configured origin may read responses including errors, and their headers', async () => {
    for (const [path, status] of [
      ['/v2/user', 200],
      ['/v2/events/1', 404],
    ] as const) {
      const answer = await open.call(resident, 'GET', path, undefined, { origin: APP });
      assert.equal(answer.status, status);
      assert.equal(corsHeadersOf(answer)['access-control-allow-origin'], APP);
      assert.match(String(corsHeadersOf(answer)['access-control-expose-headers']), /link.*location/);
      assert.match(String(answer.headers.get('vary')), /origin/i);
    }
    const refused = await sendRequest(open, '/v2/user', { origin: APP });
    assert.deepEqual([refused.status, corsHeadersOf(refused)['access-control-allow-origin']], [401, APP]);
    const other = await open.call(resident, 'GET', '/v2/user', undefined, { origin: 'https://evil.example' });
    assert.equal(corsHeadersOf(other)['access-control-allow-origin'], undefined);
  });

  for (const [origins, origin, allowed] of [
    ['*', 'https://any.example', '*'],
    ['*', 'null', '*'],
    ['null', 'null', 'null'],
  ] as const) {
    test(`X6 CARILLON_CORS_ORIGINS=${origins} allows ${origin} for the API, and never for the console`, async (t) => {
      const wide = await testService(t, { options: { corsOrigins: origins } });
      const person = await wide.createAccount('wide.test');
      const visitor = await wide.signIn(person);
      const preflight = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'key' };
      const asked = await sendRequest(wide, '/v2/events', preflight, 'OPTIONS');
      assert.deepEqual([asked.status, corsHeadersOf(asked)['access-control-allow-origin']], [204, allowed]);
      assert.equal(asked.headers.get('access-control-allow-credentials'), null);
      for (const [who, status] of [
        [person, 200],
        [undefined, 401],
      ] as const) {
        const answer = await wide.call(who, 'GET', '/v2/user', undefined, { origin });
        assert.deepEqual([answer.status, corsHeadersOf(answer)['access-control-allow-origin']], [status, allowed]);
        assert.equal(answer.headers.get('access-control-allow-credentials'), null);
      }
      const cookie = { cookie: visitor.headers.cookie ?? '', origin };
      for (const [path, status] of [
        ['/console/api/user', 200],
        ['/%63onsole/api/user', 200],
        ['/console/api/nothing', 404],
        ['/console/nothing', 404],
      ] as const) {
        const answer = await sendRequest(wide, path, { ...cookie, 'sec-fetch-site': 'same-origin' });
        assert.deepEqual([answer.status, corsHeadersOf(answer)], [status, {}], path);
        const foreign = await sendRequest(
          wide,
          path,
          { ...cookie, ...preflight, 'sec-fetch-site': 'cross-site' },
          'OPTIONS',
        );
        assert.notEqual(foreign.status, 204, path);
        assert.deepEqual(corsHeadersOf(foreign), {}, path);
      }
      assert.deepEqual(corsHeadersOf(await sendRequest(wide, '/metrics', { origin })), {});
      const warnings = wide.logged.filter(({ event }) => event === 'cors.open_origin');
      assert.deepEqual(
        warnings.map((line) => [line.level, line.origin]),
        [[WARN, origins]],
      );
      assert.match(String(warnings[0]?.risk), /every web page/);
    });
  }

  test('X6 a service with specific origins logs no warning', () => {
    assert.ok(!open.logged.some(({ event }) => event === 'cors.open_origin'));
  });

  test('X6 a request that only resembles a preflight is handled like any other', async () => {
    const incomplete = await sendRequest(open, '/v2/events', { origin: APP }, 'OPTIONS');
    assert.deepEqual([incomplete.status, incomplete.json?.code], [401, 'unauthorized']);
  });

  test('X6 /metrics is only available on this machine, and not through a proxy on it', async (t) => {
    const service = await testService(t);
    await sendRequest(service, '/healthz');
    const { status, text, headers } = await sendRequest(service, '/metrics');
    assert.equal(status, 200);
    assert.match(String(headers.get('content-type')), /^text\/plain/);
    for (const name of [
      'carillon_request_seconds',
      'carillon_attempt_seconds',
      'carillon_deliveries_total',
      'carillon_oldest_pending_seconds',
      'carillon_hooks_failing',
      'carillon_hooks_ended_total',
      'carillon_group_commit_writes',
    ])
      assert.match(text, new RegExp(`^# TYPE ${name} `, 'm'), name);
    assert.match(text, /^carillon_request_seconds_count\{method="GET",route="\/healthz",status="200"\} 1$/m);
    for (const [name, value] of [
      ['x-forwarded-for', '127.0.0.1'],
      ['forwarded', 'for=127.0.0.1'],
      ['via', '1.1 proxy'],
      ['x-real-ip', '127.0.0.1'],
      ['x-forwarded-host', 'localhost'],
      ['x-forwarded-proto', 'http'],
    ] as const) {
      const proxied = await sendRequest(service, '/metrics', { [name]: value });
      assert.deepEqual([name, proxied.status, proxied.json.code], [name, 404, 'not_found']);
    }
  });

  test('X6 /metrics requires a Host of this machine, which prevents DNS rebinding', async (t) => {
    const behind = await testService(t, { options: { baseUrl: 'https://calendar.example.com' } });
    const guarded = await testService(t, { options: { metricsToken: TOKEN } });
    const statusFor = async (service: TestService, host: string, ...more: string[]) => {
      const lines = ['GET /metrics HTTP/1.1', `host: ${host}`, ...more];
      return (await sendRawRequest(service.service.url, lines)).status;
    };
    const { port } = new URL(behind.service.url);
    const own = [
      'localhost',
      'LOCALHOST',
      'carillon.localhost',
      '127.0.0.1',
      '127.9.8.7',
      '[::1]',
      'calendar.example.com',
    ];
    for (const host of own) {
      assert.equal(await statusFor(behind, host), 200, host);
      assert.equal(await statusFor(behind, `${host}:${port}`), 200, host);
    }
    const foreign = [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      'xlocalhost',
      '192.0.2.1',
      '[::2]',
      '',
      'x:y',
    ];
    for (const host of foreign) assert.equal(await statusFor(behind, host), 404, host);
    assert.equal(await statusFor(carillon, 'calendar.example.com'), 404, 'not its own without that base address');
    // With a token, any host is accepted, because a web page does not know the token.
    assert.equal(await statusFor(guarded, 'evil.example', `authorization: Bearer ${TOKEN}`), 200);
  });

  test('C1 a page that uses DNS rebinding cannot sign in to the console or change anything there', async (t) => {
    const service = await testService(t);
    const [host, body] = ['evil.example', JSON.stringify({ email: 'owner@acme.test', passphrase: 'a passphrase' })];
    const from = [`host: ${host}`, `origin: http://${host}`, 'content-type: application/json'];
    const paths = [
      'POST /console/session',
      'POST /console/api/events',
      'DELETE /console/session',
      'PUT /console/api/events/1',
    ];
    for (const line of paths) {
      const sent = await sendRawRequest(
        service.service.url,
        [`${line} HTTP/1.1`, ...from, `content-length: ${body.length}`],
        body,
      );
      assert.deepEqual([sent.status, JSON.parse(sent.body).code], [403, 'cross_origin'], line);
    }
  });

  test('X6 with CARILLON_METRICS_TOKEN only the token gives access to /metrics, also through a proxy', async (t) => {
    const guarded = await testService(t, { options: { metricsToken: TOKEN } });
    const authorization = `Bearer ${TOKEN}`;
    assert.equal((await sendRequest(guarded, '/metrics', { authorization })).status, 200);
    assert.equal(
      (await sendRequest(guarded, '/metrics', { authorization, 'x-forwarded-for': '203.0.113.9' })).status,
      200,
    );
    for (const wrong of ['', TOKEN, `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `bearer ${TOKEN}`])
      assert.equal((await sendRequest(guarded, '/metrics', { authorization: wrong })).status, 404, wrong);
    assert.equal((await sendRequest(guarded, '/metrics')).status, 404);
  });

  test('X6 the metrics contain no key, no target and no record', async (t) => {
    const service = await testService(t);
    const person = await service.createAccount('acme.test');
    await person.carillon.events.list();
    await service.call(person, 'GET', '/v2/events/123456789');
    await service.call(person, 'GET', '/v2/canary-path');
    const { text } = await sendRequest(service, '/metrics');
    assert.doesNotMatch(text, /carillon_\w{43}|123456789|canary|acme/);
    assert.match(text, /route="\/v2\/events\/:event_id",status="404"/);
  });

  /** Sends a request with these headers, and returns the source address in its log line. */
  async function loggedSourceOf(
    options: Record<string, string>,
    headers: Record<string, string>,
    t: Parameters<typeof testService>[0],
  ) {
    const service = await testService(t, { options });
    await sendRequest(service, '/healthz', headers);
    return service.logged.find((line) => line.event === 'request')?.from;
  }

  test('CARILLON_TRUST_PROXY: X-Forwarded-For is only trusted from the configured proxies', async (t) => {
    const forwarded = { 'x-forwarded-for': '203.0.113.9' };
    assert.equal(await loggedSourceOf({}, forwarded, t), '127.0.0.1');
    assert.equal(await loggedSourceOf({ trustProxy: '10.0.0.0/8' }, forwarded, t), '127.0.0.1');
    assert.equal(await loggedSourceOf({ trustProxy: '127.0.0.0/8' }, forwarded, t), '203.0.113.9');
    // Only the last entry is trusted, because the proxy has added it. A client can forge all other entries.
    const forged = { 'x-forwarded-for': '198.51.100.1, 203.0.113.9' };
    assert.equal(await loggedSourceOf({ trustProxy: '127.0.0.1' }, forged, t), '203.0.113.9');
  });

  test('X6 a trusted proxy does not give its clients access to /metrics', async (t) => {
    const service = await testService(t, { options: { trustProxy: '127.0.0.1' } });
    const proxy = createServer((incoming, outgoing) => {
      const headers = { ...incoming.headers, 'x-forwarded-for': '203.0.113.9' };
      const onward = request(`${service.baseUrl}${incoming.url}`, { headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0);
        answer.pipe(outgoing);
      });
      onward.end();
    }).listen(0, '127.0.0.1');
    t.after(() => proxy.close());
    await once(proxy, 'listening');
    const address = proxy.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    assert.equal((await fetch(`http://127.0.0.1:${port}/metrics`)).status, 404);
    assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
  });
}
