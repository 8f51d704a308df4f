import assert from 'node:assert/strict';
import { sendRawRequest } from '../../../test/kit/network/raw-http.ts';
import { startTarget } from '../../../test/kit/network/target.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { loadConfig } from '../../config/load.ts';

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
