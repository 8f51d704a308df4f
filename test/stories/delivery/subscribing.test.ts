import assert from 'node:assert/strict';
import { after } from 'node:test';
import { hookKinds } from '../../../packages/sdk/src/index.ts';
import type { ResolveName } from '../../../src/delivery/transport/dns-resolver.ts';
import type { Permission } from '../../../src/permissions.ts';
import { createTestClock } from '../../kit/clock.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget } from '../../kit/network/target.ts';
import type { ApiUser, Json } from '../../kit/service/service.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  /** A resolver with fixed results, so that no DNS query is sent. */
  const resolve: ResolveName = async (name) => {
    if (name === 'public.test') return { addresses: ['93.184.215.14'] };
    if (name === 'inside.test') return { addresses: ['93.184.215.14', '10.1.2.3'] };
    if (name === 'silent.test') return { failure: 'resolver_silent' };
    return { failure: 'no_such_name' };
  };

  const carillon = await testService({ after }, { deps: { resolve } });
  const owner = await carillon.createAccount('acme.test');
  const subscribe = (body: unknown, who = owner) => carillon.call(who, 'POST', '/v2/hooks', body);
  const countHooks = async () => (await owner.carillon.hooks.list()).paging.total_records;

  let paths = 0;
  function nextTarget(): string {
    paths += 1;
    return `https://public.test/${paths}`;
  }

  test('C11 subscribing returns 201 with only the id at the top level, and the Location of the hook', async () => {
    const target_url = nextTarget();
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
    for (const event of hookKinds) {
      assert.equal((await subscribe({ target_url: nextTarget(), event })).status, 201, event);
      const plain = nextTarget().replace('https:', 'http:');
      assert.equal((await subscribe({ target_url: plain, event })).status, 201, event);
    }
  });

  const good = 'https://public.test/good';
  const invalidBodies: readonly (readonly [what: string, body: unknown, fields: readonly string[]])[] = [
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

  for (const [what, body, fields] of invalidBodies) {
    test(`C11 400: ${what}`, async () => {
      const before = await countHooks();
      const response = await subscribe(body);
      assert.equal(response.status, 400);
      assert.equal(response.json.code, 'invalid_input');
      assert.deepEqual(response.json.errors.map((error: Json) => error.field).sort(), fields);
      assert.equal(await countHooks(), before);
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
    const reads: Readonly<Record<(typeof hookKinds)[number], Permission>> = {
      completed_subtask: 'tasks:read',
      completed_task: 'tasks:read',
      new_client: 'clients:read',
      new_event: 'events:read',
      new_project: 'projects:read',
      new_subtask: 'tasks:read',
      new_task: 'tasks:read',
    };
    for (const event of hookKinds) {
      const permissions: Permission[] = ['hooks:write', 'hooks:read', reads[event]];
      const allowed = await carillon.createKey(owner, { permissions });
      for (const other of hookKinds) {
        const response = await subscribe({ target_url: nextTarget(), event: other }, allowed);
        const mayRead = reads[other] === reads[event];
        assert.equal(response.status, mayRead ? 201 : 401, `${event} for ${other}`);
        if (!mayRead) assert.equal(response.json.code, 'not_permitted');
      }
    }
  });

  test('C2 C11 subscribing and unsubscribing need hooks:write', async () => {
    const reader = await carillon.createKey(owner, { permissions: ['hooks:read', 'events:read'] });
    assert.equal((await subscribe({ target_url: nextTarget(), event: 'new_event' }, reader)).status, 401);
    const { id } = await owner.carillon.hooks.create({ target_url: nextTarget(), event: 'new_event' });
    assert.equal((await carillon.call(reader, 'DELETE', `/v2/hooks/${id}`)).status, 401);
    assert.equal((await owner.carillon.hooks.get(id)).state, 'live');
  });
}

for (const { test, testService } of everyStore) {
  const clock = createTestClock();
  const carillon = await testService({ after }, { options: { retryWaits: '1m,2h' }, deps: { clock } });
  const owner = await carillon.createAccount('acme.test');
  const admin = await carillon.createUser(owner, 'admin');
  const member = await carillon.createUser(owner, 'member');
  const other = await carillon.createUser(owner, 'member');
  const otherOwner = await carillon.createAccount('other.test');

  let paths = 0;
  async function hookOf(who: ApiUser): Promise<string> {
    paths += 1;
    const target_url = `http://127.0.0.1:9/${paths}`;
    return (await who.carillon.hooks.create({ target_url, event: 'new_event' })).id;
  }
  const remove = (who: ApiUser, id: string) => carillon.call(who, 'DELETE', `/v2/hooks/${id}`);

  test('C13 unsubscribing returns 200 with an empty array, and the hook has ended', async () => {
    const id = await hookOf(member);
    const response = await remove(member, id);
    assert.equal(response.status, 200);
    assert.equal(response.text, '[]');
    const hook = await member.carillon.hooks.get(id);
    assert.deepEqual({ state: hook.state, reason: hook.ended_reason }, { state: 'ended', reason: 'deleted' });
  });

  test('C3 C13 an unknown hook, an ended one and one of another account get the same 404, byte for byte', async () => {
    const ended = await hookOf(member);
    await remove(member, ended);
    const theirs = await hookOf(otherOwner);
    const responses = [
      await remove(member, '999999'),
      await remove(member, ended),
      await remove(member, theirs),
      await remove(owner, theirs),
      await remove(owner, ended),
    ];
    for (const response of responses) {
      assert.equal(response.status, 404);
      assert.equal(response.text, responses[0]?.text);
    }
    assert.equal((await otherOwner.carillon.hooks.get(theirs)).state, 'live');
  });

  test("C13 another user's hook of the account is 401 for a member, and an admin can end it", async () => {
    for (const whose of [owner, admin, other]) {
      const id = await hookOf(whose);
      const response = await remove(member, id);
      assert.equal(response.status, 401);
      assert.equal(response.json.code, 'not_permitted');
      assert.equal((await whose.carillon.hooks.get(id)).state, 'live', 'refused means not done');
    }
    for (const [who, whose] of [
      [admin, member],
      [admin, owner],
      [owner, admin],
    ] as const) {
      const id = await hookOf(whose);
      assert.equal((await remove(who, id)).status, 200);
      assert.equal((await whose.carillon.hooks.get(id)).state, 'ended');
    }
  });

  test('C13 after the 200 neither pending nor later deliveries are sent, however long one waits', async (t) => {
    const target = await startTarget(t, 500);
    const healthy = await startTarget(t);
    const create = (name: string) =>
      owner.carillon.events.create({ event_name: name, start_date: '20270101', due_date: '20270101' });
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    await owner.carillon.hooks.create({ target_url: healthy.url, event: 'new_event' });
    await create('fails');
    await create('waits behind it');
    await eventually(
      () => owner.carillon.hooks.get(id),
      (hook) => hook.state === 'failing',
    );
    const before = target.received.length;
    assert.equal(before, 1);

    await owner.carillon.hooks.delete(id);
    await create('after the end');
    await clock.advance(24 * 3_600_000);
    await healthy.waitForArrivals(3);
    await carillon.stop();
    assert.equal(target.received.length, before);
  });
}

for (const { test, testService } of everyStore) {
  const resolve: ResolveName = async () => ({ addresses: ['93.184.215.14'] });
  const carillon = await testService({ after }, { deps: { resolve } });
  const owner = await carillon.createAccount('acme.test');
  const otherOwner = await carillon.createAccount('other.test');
  const subscribe = (target_url: string, who = owner) =>
    carillon.call(who, 'POST', '/v2/hooks', { target_url, event: 'new_event' });

  /** Groups of URLs that are equal after WHATWG URL normalization. */
  const equalTargets: readonly (readonly string[])[] = [
    ['https://one.test', 'https://one.test/', 'HTTPS://ONE.TEST/', 'https://one.test:443/', 'https://one.test:0443'],
    ['http://two.test/', 'http://two.test:80/', 'http://two.test:80', 'http://two.test/#', 'http://two.test/#part'],
    ['https://three.test/a/c', 'https://three.test/a/b/../c', 'https://three.test/a/./c', 'https://three.test/a/%2e/c'],
    ['https://four.test/?q=1', 'https://four.test?q=1', 'https://four.test/?q=1#q=2'],
    ['http://8.8.8.8/', 'http://134744072/', 'http://0x8.8.8.8/', 'http://8.8.2056/'],
    ['https://bücher.test/', 'https://xn--bcher-kva.test/', 'https://BÜCHER.test/', 'https://b%C3%BCcher.test/'],
    ['http://[2606:4700::1111]/', 'http://[2606:4700:0:0:0:0:0:1111]/'],
    ['https://six.test/\\b', 'https://six.test//b'],
  ];

  for (const [first = '', ...others] of equalTargets) {
    test(`C12 ${first} is taken in every other spelling, for all users of the service`, async () => {
      assert.equal((await subscribe(first)).status, 201);
      for (const other of [first, ...others]) {
        for (const who of [owner, otherOwner]) {
          const response = await subscribe(other, who);
          assert.equal(response.status, 409, other);
          assert.equal(response.json.code, 'target_taken');
        }
      }
    });
  }

  test('C12 URLs that differ after normalization are different targets', async () => {
    const base = 'https://seven.test/a';
    const others = [
      'http://seven.test/a',
      'https://seven.test/A',
      'https://seven.test/a/',
      'https://seven.test/a?',
      'https://seven.test/a?b',
      'https://seven.test:8443/a',
      'https://seven.test./a',
      'https://www.seven.test/a',
    ];
    for (const target of [base, ...others]) assert.equal((await subscribe(target)).status, 201, target);
  });

  test('C12 another kind does not free a target', async () => {
    assert.equal((await subscribe('https://eight.test/')).status, 201);
    const body = { target_url: 'https://eight.test/', event: 'new_client' };
    assert.equal((await carillon.call(owner, 'POST', '/v2/hooks', body)).status, 409);
  });

  test('C12 of sixty concurrent creations exactly one is 201, and every other 409', async () => {
    for (let round = 0; round < 3; round += 1) {
      const before = (await owner.carillon.hooks.list()).paging.total_records;
      const spellings = [`https://race${round}.test/`, `HTTPS://Race${round}.test:443/#x`, `https://race${round}.test`];
      const responses = await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          subscribe(spellings[index % 3] ?? '', index % 2 === 0 ? owner : otherOwner),
        ),
      );
      const statuses = responses.map((response) => response.status);
      assert.equal(statuses.filter((status) => status === 201).length, 1);
      assert.equal(statuses.filter((status) => status === 409).length, 59);
      const made = (await owner.carillon.hooks.list()).paging.total_records - before;
      assert.equal(
        made,
        responses.findIndex((response) => response.status === 201) % 2 === 0 ? 1 : 0,
        'refused means not made',
      );
    }
  });

  test('C12 a target is free again once its hook has ended, and not before', async () => {
    const target = 'https://nine.test/';
    const { json } = await subscribe(target);
    assert.equal((await subscribe(target, otherOwner)).status, 409);
    await owner.carillon.hooks.delete(json.id);
    const taken = await subscribe(target, otherOwner);
    assert.equal(taken.status, 201);
    assert.equal((await subscribe(target)).status, 409);
    assert.notEqual(taken.json.id, json.id);
  });
}
