import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import express from 'express';
import { Webhook } from 'standardwebhooks';
import { createReceiver, type Receiver } from '../../../packages/sdk/src/receiver/index.ts';
import { atEnd } from '../../kit/cleanup.ts';
import { createTestClock } from '../../kit/clock.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget } from '../../kit/network/target.ts';
import { isAccepted, type SignedNotification } from '../../kit/service/receiver.ts';
import type { ApiUser } from '../../kit/service/service.ts';
import { everyStore, sqlite } from '../../kit/service/stores.ts';

const HOUR_S = 3_600;
const NO_DATE = '0000-00-00 00:00:00';

for (const { test, testService } of everyStore) {
  const clock = createTestClock();
  const carillon = await testService({ after }, { options: { retryWaits: '1m,2h' }, deps: { clock } });
  const target = await startTarget({ after });
  const owner = await carillon.createAccount('acme.test');
  const member = await carillon.createUser(owner, 'member');
  const colleague = await carillon.createUser(owner, 'member');
  const otherOwner = await carillon.createAccount('other.test');

  let paths = 0;
  async function createHook(who: ApiUser, at = target) {
    paths += 1;
    return (await who.carillon.hooks.create({ target_url: at.urlOf(`/${paths}`), event: 'new_client' })).id;
  }
  const sign = (who: ApiUser, id: string, body: unknown = {}, headers = {}) =>
    carillon.call(who, 'POST', `/v2/hooks/${id}/secret`, body, headers);
  const isSignedBy = (secret: string, one: SignedNotification) => isAccepted(secret, one, clock.now());

  /** Requests a test of the hook and returns its notification. */
  async function nextNotification(id: string): Promise<SignedNotification> {
    const before = target.received.length;
    await owner.carillon.hooks.test(id);
    return (await target.waitForArrivals(before + 1))[before] ?? assert.fail();
  }

  test('X8 off by default: no signature header, no secret, and subscribing returns only the id', async () => {
    const response = await carillon.call(owner, 'POST', '/v2/hooks', {
      target_url: target.urlOf('/off'),
      event: 'new_client',
    });
    assert.deepEqual(Object.keys(response.json), ['id']);
    const { headers } = await nextNotification(response.json.id);
    const sent = ['host', 'connection', 'content-type', 'user-agent', 'content-length'];
    const described = ['webhook-id', 'webhook-event'];
    assert.deepEqual(Object.keys(headers).sort(), [...sent, ...described].sort());
    const hook = await owner.carillon.hooks.get(response.json.id);
    assert.deepEqual([hook.signed, hook.secret_created, hook.secret_previous_until], ['0', NO_DATE, NO_DATE]);
    await owner.carillon.hooks.delete(response.json.id);
  });

  test('X8 the official library accepts each attempt of a signed hook unchanged, and no changed one', async (t) => {
    const failing = await startTarget(t, 500, 200);
    const id = await createHook(owner, failing);
    const { secret, date_created, previous_until } = await owner.carillon.hooks.createSecret(id);
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(previous_until, NO_DATE);
    const hook = await owner.carillon.hooks.get(id);
    assert.deepEqual([hook.signed, hook.secret_created, hook.secret_previous_until], ['1', date_created, NO_DATE]);

    const { client_id } = await owner.carillon.clients.create({ client_name: 'ACME' });
    await failing.waitForArrivals(1);
    await eventually(
      () => owner.carillon.hooks.get(id),
      ({ state }) => state === 'failing',
    );
    await clock.advance(90_000);
    const [first, again] = await failing.waitForArrivals(2);
    assert.ok(first !== undefined && again !== undefined);
    assert.equal(first.body, `{"resource_url":"${carillon.baseUrl}/v2/clients/${client_id}"}`);
    assert.deepEqual([again.body, again.headers['webhook-id']], [first.body, first.headers['webhook-id']]);
    assert.equal(first.headers.authorization, undefined);
    const moments = [first, again].map((one) => Number(one.headers['webhook-timestamp']));
    assert.ok((moments[1] ?? 0) - (moments[0] ?? 0) >= 60, 'each attempt is signed at its own moment');
    assert.notEqual(again.headers['webhook-signature'], first.headers['webhook-signature']);
    assert.ok(isSignedBy(secret, first) && isSignedBy(secret, again));

    const withHeader = (name: string, value: string) => ({ ...again, headers: { ...again.headers, [name]: value } });
    for (const changed of [
      { ...again, body: again.body.replace('clients', 'client') },
      withHeader('webhook-id', `${again.headers['webhook-id']}0`),
      withHeader('webhook-timestamp', String((moments[1] ?? 0) + 1)),
    ])
      assert.ok(!isSignedBy(secret, changed));

    const { data } = await owner.carillon.deliveries.list({ hook_id: id });
    await owner.carillon.deliveries.redeliver(data[0]?.id ?? '');
    const [, , once] = await failing.waitForArrivals(3);
    assert.ok(once !== undefined && isSignedBy(secret, once), 'what is sent again is signed, too');
    await owner.carillon.hooks.delete(id);
    await owner.carillon.hooks.restore(id);
    await owner.carillon.hooks.test(id);
    const [, , , restored] = await failing.waitForArrivals(4);
    assert.ok(restored !== undefined && isSignedBy(secret, restored), 'a restored hook signs as before');
    await owner.carillon.hooks.delete(id);
  });

  test('X8 after a rotation the previous secrets are valid for the requested overlap; off means unsigned', async () => {
    const id = await createHook(owner);
    const one = await owner.carillon.hooks.createSecret(id);
    const two = await owner.carillon.hooks.createSecret(id, { overlap: HOUR_S });
    // Rotate again: the last response may have been lost, so a receiver with the first secret must still be served.
    const three = await owner.carillon.hooks.createSecret(id);
    assert.equal((await owner.carillon.hooks.get(id)).secret_previous_until, three.previous_until);
    const acceptedSecrets = async () => {
      const notification = await nextNotification(id);
      return [one, two, three].map(({ secret }) => isSignedBy(secret, notification));
    };
    assert.deepEqual(await acceptedSecrets(), [true, true, true]);
    await clock.advance(HOUR_S * 1_000);
    assert.deepEqual(await acceptedSecrets(), [false, true, true], 'a later overlap lengthens no earlier one');
    await clock.advance(23 * HOUR_S * 1_000);
    assert.deepEqual(await acceptedSecrets(), [false, false, true], 'a day by default');
    assert.equal((await owner.carillon.hooks.get(id)).secret_previous_until, NO_DATE);

    const four = await owner.carillon.hooks.createSecret(id, { overlap: 0 });
    assert.equal(four.previous_until, NO_DATE);
    assert.deepEqual(await acceptedSecrets(), [false, false, false]);
    const { headers } = await nextNotification(id);
    assert.equal(String(headers['webhook-signature']).split(' ').length, 1);

    await owner.carillon.hooks.deleteSecret(id);
    const off = await nextNotification(id);
    assert.deepEqual([off.headers['webhook-signature'], off.headers['webhook-timestamp']], [undefined, undefined]);
    const five = await owner.carillon.hooks.createSecret(id);
    assert.equal(five.previous_until, NO_DATE, 'what was turned off does not come back');
    await owner.carillon.hooks.delete(id);
  });

  test('X4 X8 a secret is returned once: not in a repeated response, the hook or the audit log; 201 has the Location of the hook', async () => {
    const id = await createHook(owner);
    const headers = { 'idempotency-key': 'sign-1' };
    const first = await sign(owner, id, {}, headers);
    const again = await sign(owner, id, {}, headers);
    const { secret, ...rest } = first.json.data;
    assert.deepEqual([first.status, first.headers.get('location')], [201, `${carillon.baseUrl}/v2/hooks/${id}`]);
    assert.deepEqual([again.status, again.json.data], [201, rest]);
    assert.ok(isSignedBy(secret, await nextNotification(id)), 'the repeated call made no other');
    const hook = await carillon.call(owner, 'GET', `/v2/hooks/${id}`);
    assert.equal(hook.json.data.secret, undefined);
    const auditEntries = await carillon.store.read.selectFrom('audit').selectAll().execute();
    assert.ok(auditEntries.some(({ action, subject }) => action === 'hook.signed' && subject === `hook ${id}`));
    for (const text of [hook.text, JSON.stringify(auditEntries)])
      assert.ok(!text.includes(secret.slice('whsec_'.length)));
    await owner.carillon.hooks.delete(id);
  });

  test('X8 the owner and admins may sign a hook: other users get 401, other accounts 404, an ended hook 409', async () => {
    const id = await createHook(member);
    const unsign = (who: ApiUser) => carillon.call(who, 'DELETE', `/v2/hooks/${id}/secret`);
    assert.equal((await unsign(member)).status, 404, 'it is not signed');
    for (const [who, status] of [
      [colleague, 401],
      [otherOwner, 404],
      [member, 201],
      [owner, 201],
    ] as const)
      assert.equal((await sign(who, id)).status, status);
    for (const [who, status] of [
      [colleague, 401],
      [otherOwner, 404],
      [member, 200],
      [member, 404],
    ] as const)
      assert.equal((await unsign(who)).status, status);
    await member.carillon.hooks.delete(id);
    for (const response of [await sign(member, id), await unsign(member)])
      assert.deepEqual([response.status, response.json.code], [409, 'hook_ended']);
    const refused = await sign(owner, await createHook(owner), { overlap: 7 * 24 * HOUR_S + 1 });
    assert.deepEqual([refused.status, refused.json.errors[0].field], [400, 'overlap']);
  });
}

const secretOf = (text: string) => `whsec_${Buffer.from(text.padEnd(32, '.')).toString('base64')}`;
const [oldSecret, newSecret, otherSecret] = [secretOf('old'), secretOf('new'), secretOf('other')];

const carillon = await sqlite.testService({ after });
const owner = await carillon.createAccount('acme.test');
const account = { baseUrl: carillon.baseUrl, domain: owner.domain, key: owner.key };
const body = JSON.stringify({ resource_url: `${carillon.baseUrl}/v2/events/1` });

/** Returns the headers of a notification that the Standard Webhooks library has signed. */
function signedHeaders(secret: string, { ageS = 0, id = 'd-1', text = body } = {}): Record<string, string> {
  const at = new Date(Date.now() - ageS * 1_000);
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(id, at, text),
  };
}

test('X8 a receiver accepts recent notifications that the official library signed with one of its secrets, and no others', async () => {
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const receiver = createReceiver({ ...account, secret: [oldSecret, `${newSecret}\n`], on: {}, onError });
  const status = async (headers: Record<string, string>, text = body) =>
    (await receiver.fetch(new Request('http://here/', { method: 'POST', headers, body: text }))).status;
  const good = signedHeaders(oldSecret);
  for (const secret of [oldSecret, newSecret]) assert.equal(await status(signedHeaders(secret)), 200);
  for (const ageS of [290, -290]) assert.equal(await status(signedHeaders(oldSecret, { ageS })), 200, `${ageS} s old`);
  // During a rotation a notification has two signatures.
  const two = `${signedHeaders(otherSecret)['webhook-signature']} v1a,x ${good['webhook-signature']}`;
  assert.equal(await status({ ...good, 'webhook-signature': two }), 200);
  const wrong: readonly Record<string, string>[] = [
    signedHeaders(otherSecret),
    signedHeaders(oldSecret, { ageS: 310 }),
    signedHeaders(oldSecret, { ageS: -310 }),
    signedHeaders(oldSecret, { text: `${body} ` }),
    { ...good, 'webhook-id': 'd-2' },
    { ...good, 'webhook-timestamp': String(Number(good['webhook-timestamp']) + 1) },
    { ...good, 'webhook-timestamp': 'now' },
    { ...good, 'webhook-signature': '' },
    { ...good, 'webhook-signature': 'v1,' },
    { ...good, 'webhook-signature': 'v1,%%%' },
    { ...good, 'webhook-signature': String(good['webhook-signature']).replace('v1,', 'v2,') },
    { ...good, 'webhook-signature': String(good['webhook-signature']).slice(0, -5) },
    { 'content-type': 'application/json', 'webhook-id': 'd-1' },
  ];
  for (const headers of wrong) assert.equal(await status(headers), 400, JSON.stringify(headers));
  assert.equal(errors.length, wrong.length);
  for (const secret of ['', 'whsec_', 'whsec_%', 'abc']) {
    assert.throws(() => createReceiver({ ...account, secret, on: {} }), TypeError);
  }
});

test('X8 a receiver accepts notifications of a signed hook, also behind a body parser', async (t) => {
  const current: { receiver?: Receiver } = {};
  const app = express().use(express.json());
  const server = createServer(app.post('/bell-9c', (request, response) => current.receiver?.node(request, response)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(t, () => server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const { hooks, deliveries, events } = owner.carillon;
  const target_url = `http://127.0.0.1:${port}/bell-9c`;
  const { id } = await hooks.create({ target_url, event: 'new_event' });
  const { secret } = await hooks.createSecret(id);
  const called: string[] = [];
  current.receiver = createReceiver({
    ...account,
    secret,
    on: { new_event: ({ event_name }) => called.push(event_name) },
  });
  await events.create({ event_name: 'Launch', start_date: '20270101', due_date: '20270101' });
  await eventually(
    () => deliveries.list({ hook_id: id, state: 'delivered' }),
    ({ paging }) => paging.total_records === 1,
  );
  assert.deepEqual(called, ['Launch']);
  const forged = await fetch(target_url, { method: 'POST', headers: signedHeaders(otherSecret), body });
  assert.equal(forged.status, 400);
  await current.receiver.stop();
});
