import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { formatRequest, sendRawBytes, sendRawRequest } from '../../../test/kit/network/raw-http.ts';
import { startTarget } from '../../../test/kit/network/target.ts';
import { sqlite, stores } from '../../../test/kit/service/stores.ts';
import { loadConfig } from '../../config/load.ts';
import { clientNetworkOf } from './client-network.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const credentials = [`key: ${owner.key}`, `domain: ${owner.domain}`];

  const CLIENT = '{"client_name":"Expected"}';
  const LENGTH = `content-length: ${CLIENT.length}`;
  const exchange = (first: string, lines: readonly string[] = credentials, body = '') =>
    sendRawBytes(
      carillon.baseUrl,
      formatRequest([`${first} HTTP/1.1`, 'host: x', 'connection: close', ...lines], body),
    );

  // Malformed and ambiguous requests are in `test/reliability/fuzz/corpus.ts`.

  test('C6 a request behind an ambiguous one is not executed, and those before it are answered', async () => {
    const { client_id } = await owner.carillon.clients.create({ client_name: 'Kept' });
    const hidden = formatRequest([`DELETE /v2/clients/${client_id} HTTP/1.1`, 'host: x', ...credentials]);
    const user = formatRequest(['GET /v2/user HTTP/1.1', 'host: x', ...credentials]);
    const twoHosts = formatRequest(['GET /v2/user HTTP/1.1', 'host: x', 'host: y', ...credentials]);
    for (const [bytes, statuses] of [
      [twoHosts + hidden, [400]],
      [user + twoHosts + hidden, [200, 400]],
      [`${user}nonsense\r\n\r\n${hidden}`, [200, 400]],
    ] as const) {
      const conversation = await sendRawBytes(carillon.baseUrl, bytes);
      assert.deepEqual([conversation.statuses, conversation.isClosed], [statuses, true]);
    }
    assert.equal((await carillon.call(owner, 'GET', `/v2/clients/${client_id}`)).status, 200);
  });

  test('C4 an unknown method is 404 with a key and 401 without', async () => {
    for (const method of ['PATCH', 'PROPFIND', 'PURGE', 'QUERY', 'TRACE', 'OPTIONS', 'RING', 'get', 'X-Y_Z']) {
      const [known, unknown] = [await exchange(`${method} /v2/clients`), await exchange(`${method} /v2/clients`, [])];
      assert.deepEqual(known.statuses, [404], method);
      assert.match(known.text, /"code":"not_found"/);
      assert.deepEqual(unknown.statuses, [401], method);
      assert.match(unknown.text, /\r\nwww-authenticate: Key realm="carillon"\r\n/i);
      assert.match(unknown.text, /"code":"unauthorized"/);
      // Paths outside of the route groups need no key.
      assert.deepEqual((await exchange(`${method} /nowhere`, [])).statuses, [404], method);
    }
  });

  test('C4 an unknown path is 404 before the body is read', async () => {
    const lines = [...credentials, 'content-type: text/plain', 'content-length: 3'];
    for (const first of ['POST /v2/nowhere', 'PUT /v2/clients', 'QUERY /v2/clients', 'PUT /v2/clients/1e3'])
      assert.deepEqual((await exchange(first, lines, 'abc')).statuses, [404], first);
  });

  test('C4 HEAD returns the response of GET without a body', async () => {
    const { client_id } = await owner.carillon.clients.create({ client_name: 'ACME' });
    for (const path of ['/v2/user', `/v2/clients/${client_id}`, '/v2/clients', '/v2/nowhere', '/healthz']) {
      const [get, head] = [await exchange(`GET ${path}`), await exchange(`HEAD ${path}`)];
      assert.deepEqual(head.statuses, get.statuses, path);
      const [headers, body] = head.text.split('\r\n\r\n');
      assert.equal(body, '', path);
      const length = /content-length: (\d+)/i.exec(headers ?? '')?.[1];
      assert.equal(length, String(Buffer.byteLength(get.text.split('\r\n\r\n')[1] ?? '', 'latin1')), path);
    }
    assert.deepEqual((await exchange('HEAD /v2/user', [])).statuses, [401]);
  });

  test('C10 the host header, an absolute request target and forwarded headers change no URL in a response', async () => {
    const { client_id } = await owner.carillon.clients.create({ client_name: 'Host' });
    const body = JSON.stringify({ client_name: 'Host' });
    const strange = ['x-forwarded-host: evil.example', 'x-forwarded-proto: https', 'forwarded: host=evil.example'];
    const lines = [...credentials, ...strange, `content-length: ${body.length}`];
    const created = await exchange('POST http://evil.example/v2/clients', lines, body);
    assert.deepEqual(created.statuses, [201]);
    assert.match(
      created.text,
      new RegExp(`\\r\\nlocation: ${carillon.baseUrl}/v2/clients/${Number(client_id) + 1}\\r\\n`, 'i'),
    );
    assert.doesNotMatch(created.text, /evil/);
  });

  test('C4 100-continue is honored, other expectations are ignored, and upgrades are not accepted', async () => {
    const lines = [...credentials, LENGTH];
    assert.deepEqual(
      (await exchange('POST /v2/clients', [...lines, 'expect: 100-continue'], CLIENT)).statuses,
      [100, 201],
    );
    assert.deepEqual((await exchange('POST /v2/clients', [...lines, 'expect: miracles'], CLIENT)).statuses, [201]);
    const upgrade = ['connection: upgrade', 'upgrade: websocket', 'sec-websocket-key: x'];
    assert.deepEqual((await exchange('GET /v2/user', [...credentials, ...upgrade])).statuses, [200]);
  });
}

const CONNECTIONS = 200;

/** First bytes of connections that the service handles outside of its HTTP framework. */
const firstBytes: Readonly<Record<string, string>> = {
  'a tunnel': formatRequest(['CONNECT elsewhere.example:443 HTTP/1.1', 'host: elsewhere.example:443']),
  'an upgrade': formatRequest(['GET / HTTP/1.1', 'host: x', 'connection: upgrade', 'upgrade: websocket']),
  'no HTTP at all': 'hello there\r\n\r\n',
  'half a request': 'POST /v2/events HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{',
};

/** Sends the bytes and resets the connection, so that the service writes its response to a closed connection. */
async function sendAndReset(baseUrl: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(bytes);
  socket.resetAndDestroy();
  await closed;
}

test('C6 C22 a client that sends something and resets the connection does not affect the service', async (t) => {
  const service = await sqlite.serviceProcess(t);
  for (const [what, bytes] of Object.entries(firstBytes)) {
    for (let round = 0; round < CONNECTIONS / 20; round += 1)
      await Promise.all(Array.from({ length: 20 }, () => sendAndReset(service.baseUrl, bytes)));
    const alive = await fetch(`${service.baseUrl}/healthz`).catch(() => undefined);
    assert.deepEqual([what, alive?.status, service.process.exitCode], [what, 200, null]);
  }
  assert.equal(await service.stop('SIGTERM'), 0);
});

test('a client is identified by its IPv4 address or IPv6 /64, without the port that a proxy appends', () => {
  for (const [source, network] of [
    ['203.0.113.9', '203.0.113.9'],
    ['203.0.113.9:50123', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::1', '2001:db8:1:2'],
    ['[2001:db8:1:2::1]', '2001:db8:1:2'],
    ['[2001:db8:1:2::7]:443', '2001:db8:1:2'],
    ['unknown', 'unknown'],
  ] as const) {
    assert.equal(clientNetworkOf(source), network, source);
  }
});

for (const { test, testService } of stores) {
  /** All headers with which a request can name another host. */
  const hostHeaders = [
    'x-forwarded-host: evil.test',
    'x-forwarded-proto: https',
    'x-forwarded-port: 444',
    'x-forwarded-prefix: /evil',
    'x-forwarded-for: 203.0.113.9',
    'forwarded: host=evil.test;proto=https',
    'x-original-host: evil.test',
    'x-original-url: /evil',
  ];

  for (const options of [{}, { trustProxy: '127.0.0.1' }, { baseUrl: 'http://127.0.0.9:8080/calendar/' }]) {
    test(`C10 no request header changes a URL in a response, with ${JSON.stringify(options)}`, async (t) => {
      const carillon = await testService(t, { options });
      const base = options.baseUrl === undefined ? carillon.service.url : 'http://127.0.0.9:8080/calendar';
      const owner = await carillon.createAccount('acme.test');
      const target = await startTarget(t);
      const who = [`key: ${owner.key}`, `domain: ${owner.domain}`];
      const at = carillon.service.url;
      const post = (path: string, host: string, body: string) => {
        const lines = [`POST ${path} HTTP/1.1`, host, ...hostHeaders, ...who, `content-length: ${body.length}`];
        return sendRawRequest(at, lines, body);
      };
      const hook = await post('/v2/hooks', 'host: evil.test', `{"event":"new_client","target_url":"${target.url}"}`);
      assert.match(hook.head, new RegExp(`^location: ${base}/v2/hooks/${JSON.parse(hook.body).id}\\r$`, 'im'));
      for (const host of ['host: evil.test', 'host: evil.test:444', 'host: 127.0.0.1']) {
        const created = await post('/v2/clients', host, '{"client_name":"x"}');
        assert.equal(created.status, 201);
        const { client_id } = JSON.parse(created.body).data;
        assert.match(created.head, new RegExp(`^location: ${base}/v2/clients/${client_id}\\r$`, 'im'));
        const problem = await sendRawRequest(at, ['GET /v2/clients/999 HTTP/1.1', host, ...hostHeaders, ...who]);
        assert.equal(JSON.parse(problem.body).type, `${base}/problems/not_found`);
        for (const response of [created, problem]) assert.doesNotMatch(response.head + response.body, /evil/);
      }
      for (const first of ['GET /v2/clients?limit=1 HTTP/1.1', 'GET http://evil.test/v2/clients?limit=1 HTTP/1.1']) {
        const list = await sendRawRequest(at, [first, 'host: evil.test', ...hostHeaders, ...who]);
        const link = /^link: <([^>]*)>; rel="next"\r$/im.exec(list.head);
        assert.match(link?.[1] ?? '', new RegExp(`^${base}/v2/clients\\?limit=1&offset=1&after=[\\w-]+$`), first);
      }
      await target.waitForArrivals(3);
      for (const { resourceUrl } of target.received)
        assert.ok(resourceUrl.startsWith(`${base}/v2/clients/`), resourceUrl);
      const document = await sendRawRequest(at, ['GET /openapi.json HTTP/1.1', 'host: evil.test', ...hostHeaders]);
      assert.deepEqual(JSON.parse(document.body).servers, [{ url: base }]);
    });
  }

  /** The unspecified address in every spelling that systems accept. */
  const wildcards = [
    '0.0.0.0',
    '0',
    '00',
    '0x0',
    '0.0',
    '000.0.0.0',
    '0.0.0.0.',
    '::',
    '::0',
    '0:0::',
    '0:0:0:0:0:0:0:0',
  ];
  wildcards.push('::ffff:0.0.0.0', '::ffff:0:0', '::0.0.0.0');

  test('C10 a wildcard address is rejected without a base URL and accepted with one', () => {
    for (const host of wildcards) {
      const loaded = loadConfig({ flags: { host }, environment: {} });
      assert.ok('faults' in loaded, `${host} is refused`);
      assert.match(loaded.faults.join(), /base-url/, host);
    }
    const flags = { host: '0.0.0.0', baseUrl: 'https://calendar.example.test' };
    assert.ok('config' in loadConfig({ flags, environment: {} }));
    assert.ok('config' in loadConfig({ flags: { host: '127.0.0.1' }, environment: {} }));
    assert.ok('config' in loadConfig({ flags: { host: '::1' }, environment: {} }));
  });
}
