import assert from 'node:assert/strict';
import { after } from 'node:test';
import { kinds } from '../../packages/sdk/src/index.ts';
import type { Resolve } from '../../src/delivery/transport/dns-resolver.ts';
import type { Permission } from '../../src/permissions.ts';
import type { Json } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';

for (const { test, testService } of stores) {
  /** A fixed resolver: no DNS query leaves this machine. */
  const resolve: Resolve = async (name) => {
    if (name === 'public.test') return { addresses: ['93.184.215.14'] };
    if (name === 'inside.test') return { addresses: ['93.184.215.14', '10.1.2.3'] };
    if (name === 'silent.test') return { failure: 'resolver_silent' };
    return { failure: 'no_such_name' };
  };

  const carillon = await testService({ after }, { ports: { resolve } });
  const owner = await carillon.account('acme.test');
  const subscribe = (body: unknown, who = owner) => carillon.call(who, 'POST', '/v2/hooks', body);
  const hooksNow = async () => (await owner.carillon.hooks.list()).paging.total_records;

  let paths = 0;
  function freeTarget(): string {
    paths += 1;
    return `https://public.test/${paths}`;
  }

  test('C11 subscribing returns 201 with only the id at the top level, and the Location of the hook', async () => {
    const target_url = freeTarget();
    const response = await subscribe({ target_url, event: 'new_event' });
    assert.equal(response.status, 201);
    assert.match(response.text, /^\{"id":"[1-9]\d*"\}$/);
    assert.equal(response.headers.get('location'), `${carillon.baseUrl}/v2/hooks/${response.json.id}`);
    const hook = await owner.carillon.hooks.get(response.json.id);
    assert.deepEqual(
      { event: hook.event, target_url: hook.target_url, state: hook.state, user_id: hook.user_id },
      { event: 'new_event', target_url, state: 'live', user_id: owner.userId },
    );
  });

  test('C11 each of the seven kinds can be subscribed, with http and https', async () => {
    for (const event of kinds) {
      assert.equal((await subscribe({ target_url: freeTarget(), event })).status, 201, event);
      const plain = freeTarget().replace('https:', 'http:');
      assert.equal((await subscribe({ target_url: plain, event })).status, 201, event);
    }
  });

  const good = 'https://public.test/good';
  const refusals: readonly (readonly [what: string, body: unknown, fields: readonly string[]])[] = [
    ['no target_url', { event: 'new_event' }, ['target_url']],
    ['no event', { target_url: good }, ['event']],
    ['neither, both named at once', {}, ['event', 'target_url']],
    ...[null, 7, true, ['https://public.test/'], { href: good }].flatMap(
      (value) =>
        [
          [`target_url ${JSON.stringify(value)}`, { target_url: value, event: 'new_event' }, ['target_url']],
          [`event ${JSON.stringify(value)}`, { target_url: good, event: value }, ['event']],
        ] as const,
    ),
    ...['', 'event', 'new_events', 'NEW_EVENT', ' new_event', 'changed_event', 'deleted_event', 'new_user', 'test'].map(
      (event) => [`event "${event}"`, { target_url: good, event }, ['event']] as const,
    ),
    ...[
      '',
      ' ',
      'public.test',
      '/hooks',
      '//public.test/hooks',
      'ftp://public.test/',
      'file:///etc/passwd',
      'javascript:alert(1)',
      'ws://public.test/',
      'http:public.test',
      'https://',
      'https:///path',
      'https://public.test:99999/',
      'https://public .test/',
      'https://user:secret@public.test/',
      'https://user@public.test/',
      'https://:secret@public.test/',
      'https://@public.test/',
      `https://public.test/${'a'.repeat(2_049 - 'https://public.test/'.length)}`,
    ].map(
      (target_url) =>
        [`target_url ${target_url.slice(0, 40)}`, { target_url, event: 'new_event' }, ['target_url']] as const,
    ),
    ...[
      'http://10.0.0.1/',
      'http://169.254.169.254/latest/meta-data',
      'http://0.0.0.0/',
      'http://[::ffff:192.168.1.1]/',
      'http://inside.test/',
    ].map(
      (target_url) => [`the guard forbids ${target_url}`, { target_url, event: 'new_event' }, ['target_url']] as const,
    ),
  ];

  for (const [what, body, fields] of refusals) {
    test(`C11 400: ${what}`, async () => {
      const before = await hooksNow();
      const response = await subscribe(body);
      assert.equal(response.status, 400);
      assert.equal(response.json.code, 'invalid_input');
      assert.deepEqual(response.json.errors.map((error: Json) => error.field).sort(), fields);
      assert.equal(await hooksNow(), before);
    });
  }

  test('C11 a target URL has at most 2,048 characters', async () => {
    const target_url = `https://public.test/${'b'.repeat(2_048 - 'https://public.test/'.length)}`;
    assert.equal((await subscribe({ target_url, event: 'new_event' })).status, 201);
  });

  test('C11 a target rejected by the SSRF guard is reported as one word, without its address', async () => {
    const response = await subscribe({ target_url: 'http://inside.test/x', event: 'new_event' });
    assert.deepEqual(response.json.errors, [{ field: 'target_url', message: 'forbidden' }]);
    assert.doesNotMatch(response.text, /10\.1\.2\.3|93\.184/);
    const line = carillon.logged.findLast((one) => one.event === 'target.forbidden');
    assert.match(String(line?.explanation), /10\.1\.2\.3/, 'the log names the address for the operator');
  });

  test('C11 a name that does not resolve yet is accepted, whether the error is local or not', async () => {
    for (const target_url of ['https://not-yet.test/', 'https://silent.test/']) {
      assert.equal((await subscribe({ target_url, event: 'new_event' })).status, 201, target_url);
    }
  });

  test('C11 401 for a key that may not read the resource of the kind', async () => {
    const reads: Readonly<Record<(typeof kinds)[number], Permission>> = {
      completed_subtask: 'tasks:read',
      completed_task: 'tasks:read',
      new_client: 'clients:read',
      new_event: 'events:read',
      new_project: 'projects:read',
      new_subtask: 'tasks:read',
      new_task: 'tasks:read',
    };
    for (const event of kinds) {
      const permissions: Permission[] = ['hooks:write', 'hooks:read', reads[event]];
      const allowed = await carillon.key(owner, { permissions });
      for (const other of kinds) {
        const response = await subscribe({ target_url: freeTarget(), event: other }, allowed);
        const mayRead = reads[other] === reads[event];
        assert.equal(response.status, mayRead ? 201 : 401, `${event} for ${other}`);
        if (!mayRead) assert.equal(response.json.code, 'not_permitted');
      }
    }
  });

  test('C2 C11 subscribing and unsubscribing need hooks:write', async () => {
    const reader = await carillon.key(owner, { permissions: ['hooks:read', 'events:read'] });
    assert.equal((await subscribe({ target_url: freeTarget(), event: 'new_event' }, reader)).status, 401);
    const { id } = await owner.carillon.hooks.create({ target_url: freeTarget(), event: 'new_event' });
    assert.equal((await carillon.call(reader, 'DELETE', `/v2/hooks/${id}`)).status, 401);
    assert.equal((await owner.carillon.hooks.get(id)).state, 'live');
  });
}
