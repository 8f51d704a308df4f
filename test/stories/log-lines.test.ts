import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { hashApiKey } from '../../src/secrets.ts';
import { bytesOf } from '../kit/database.ts';
import { eventually } from '../kit/eventually.ts';
import { rawRequest } from '../kit/raw.ts';
import type { Answer, TestService } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

for (const { test, testService } of stores) {
  type Line = Readonly<Record<string, unknown>>;
  const linesOf = ({ logged }: TestService, event: string): Line[] => logged.filter((line) => line.event === event);

  test('one log line per request: user, route, status, duration and source', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.account('acme.test');
    const responses = [
      await carillon.call(owner, 'GET', '/v2/events?limit=5'),
      await carillon.call(owner, 'GET', '/v2/events/123'),
      await carillon.call(owner, 'POST', '/v2/clients', {}),
      await carillon.call(undefined, 'GET', '/v2/nowhere'),
      await carillon.call(undefined, 'GET', '/healthz'),
    ];
    const lines = await eventually(
      () => linesOf(carillon, 'request'),
      (all) => all.length >= responses.length,
    );
    assert.deepEqual(
      lines.map(({ method, route, status, problem }) => [method, route, status, problem]),
      [
        ['GET', '/v2/events', 200, undefined],
        ['GET', '/v2/events/:event_id', 404, 'not_found'],
        ['POST', '/v2/clients', 400, 'invalid_input'],
        ['GET', '(none)', 401, 'unauthorized'],
        ['GET', '/healthz', 200, undefined],
      ],
    );
    for (const [index, line] of lines.entries()) {
      // The caller can quote the id of their request.
      assert.equal(line.request_id, responses[index]?.headers.get('x-request-id'));
      assert.equal(line.from, '127.0.0.1');
      assert.equal(typeof line.ms, 'number');
      assert.deepEqual(
        [typeof line.account_id, line.user_id, typeof line.key_id],
        index < 3 ? ['number', Number(owner.userId), 'number'] : ['undefined', undefined, 'undefined'],
      );
    }
    assert.equal(new Set(lines.map((line) => line.request_id)).size, lines.length);
  });

  test('one log line per attempt: delivery, target, outcome and result', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.account('acme.test');
    const target = await startTarget(t, 500, 200);
    const { id } = await owner.carillon.hooks.create({ target_url: target.at('/path'), event: 'new_client' });
    await owner.carillon.clients.create({ client_name: 'ACME' });
    const lines = await eventually(
      () => linesOf(carillon, 'delivery.attempted'),
      (all) => all.length === 2,
    );
    const [notification] = target.received;
    for (const line of lines) {
      assert.equal(line.hook_id, Number(id));
      assert.equal(line.delivery_id, Number(notification?.deliveryId));
      assert.equal(line.kind, 'new_client');
      assert.equal(line.target, `${target.url}/…`);
      assert.deepEqual([typeof line.account_id, typeof line.ms], ['number', 'number']);
    }
    assert.deepEqual(
      lines.map(({ outcome, result, failures }) => [outcome, result, failures]),
      [
        ['500', 'wait', 1],
        ['200', 'delivered', 0],
      ],
    );
    assert.ok(Number(lines[0]?.wait_ms) >= 50);
  });

  /** Makes all mistakes that a caller can make with a key and a target URL. */
  async function provoke(carillon: TestService, t: TestContext): Promise<{ secrets: string[]; responses: Answer[] }> {
    const owner = await carillon.account('acme.test');
    const target = await startTarget(t, 500, 401);
    const secret = target.at('/canary-path-of-the-target?canary-query=1');
    const { id } = await owner.carillon.hooks.create({ target_url: secret, event: 'new_client' });
    const issued = await owner.carillon.keys.create({ label: 'canary' });
    const signed = await owner.carillon.hooks.createSecret(id);
    await owner.carillon.clients.create({ client_name: 'ACME' });
    await eventually(
      () => owner.carillon.hooks.get(id),
      ({ state }) => state === 'ended',
    );
    const hook = { target_url: secret, event: 'new_client' };
    const forbidden = 'http://169.254.169.254/canary-path-of-the-target';
    const wrongKey = `${owner.key.slice(0, -1)}_`;
    const responses = [
      await carillon.call(owner, 'POST', '/v2/hooks', hook),
      await carillon.call(owner, 'POST', '/v2/hooks', hook),
      await carillon.call(owner, 'POST', '/v2/hooks', { ...hook, event: 'no_kind' }),
      await carillon.call(owner, 'POST', '/v2/hooks', { target_url: forbidden, event: 'new_client' }),
      await carillon.call(owner, 'POST', '/v2/hooks', `{"target_url":"${secret}"`),
      await carillon.call(owner, 'GET', `/v2/${owner.key}`),
      await carillon.call(owner, 'POST', `/v2/hooks/${id}/secret`, { overlap: signed.secret }),
      await carillon.call(owner, 'GET', `/v2/events?project_id=${owner.key}`),
      await carillon.call(owner, 'POST', '/v2/clients', { client_name: 7, notes: owner.key }),
      await carillon.call(undefined, 'GET', '/v2/user', undefined, { domain: owner.domain, key: wrongKey }),
      await carillon.call(undefined, 'GET', '/v2/user', undefined, { domain: 'other.test', key: owner.key }),
      await carillon.call(undefined, 'GET', '/healthz', undefined, { authorization: `Bearer ${owner.key}` }),
    ];
    await rawRequest(carillon.baseUrl, ['GET /v2/user HTTP/1.1', 'host: x', `key: ${owner.key}`, `key: ${owner.key}`]);
    const broken = await rawRequest(carillon.baseUrl, ['GET /v2/user HTTP/1.1', 'host: x', `key ${owner.key}`]);
    responses.push({ status: broken.status, headers: new Headers(), text: broken.body, json: undefined });
    return { secrets: [owner.key, wrongKey, issued.key, signed.secret, 'canary-path', 'canary-query'], responses };
  }

  test('no key, secret or full target URL is in log lines, error responses or metrics; stored keys are hashed', async (t) => {
    const carillon = await testService(t);
    const { secrets, responses } = await provoke(carillon, t);
    const errors = responses.filter(({ status }) => status >= 400);
    assert.equal(errors.length, 11);
    const metrics = await carillon.call(undefined, 'GET', '/metrics');
    await carillon.stop();

    const logged = carillon.logged.map((line) => JSON.stringify(line));
    assert.ok(logged.length > 20);
    for (const secret of secrets) {
      for (const text of [...logged, ...errors.map((one) => one.text), metrics.text])
        assert.ok(!text.includes(secret), `${secret} is in ${text}`);
    }
    const [key = '', , issued = ''] = secrets;
    const file = await bytesOf(carillon.database);
    for (const one of [key, issued]) {
      assert.ok(!file.includes(one.slice('carillon_'.length)));
      assert.ok(file.includes(hashApiKey(one)));
    }
  });

  test('the options of a start are logged with masked secrets', async (t) => {
    const carillon = await testService(t, { options: { metricsToken: 'canary-canary-canary' } });
    const [line] = linesOf(carillon, 'started');
    assert.deepEqual((line?.options as Line | undefined)?.['metrics-token'], '(set)');
    assert.ok(!JSON.stringify(carillon.logged).includes('canary'));
  });
}
