import assert from 'node:assert/strict';
import { after } from 'node:test';
import { testClock } from '../kit/clock.ts';
import { eventually } from '../kit/eventually.ts';
import type { Person } from '../kit/service.ts';
import { isTaken, type Signed } from '../kit/signed.ts';
import { stores } from '../kit/stores.ts';
import { startTarget } from '../kit/target.ts';

const HOUR = 3_600;
const NEVER = '0000-00-00 00:00:00';

for (const { test, testService } of stores) {
  const clock = testClock();
  const carillon = await testService({ after }, { options: { retryWaits: '1m,2h' }, ports: { clock } });
  const target = await startTarget({ after });
  const owner = await carillon.account('acme.test');
  const member = await carillon.user(owner, 'member');
  const colleague = await carillon.user(owner, 'member');
  const otherOwner = await carillon.account('other.test');

  let paths = 0;
  async function hookOf(who: Person, at = target) {
    paths += 1;
    return (await who.carillon.hooks.create({ target_url: at.at(`/${paths}`), event: 'new_client' })).id;
  }
  const sign = (who: Person, id: string, body: unknown = {}, headers = {}) =>
    carillon.call(who, 'POST', `/v2/hooks/${id}/secret`, body, headers);
  const isSignedBy = (secret: string, one: Signed) => isTaken(secret, one, clock.now());

  /** Requests a test of the hook and returns its notification. */
  async function next(id: string): Promise<Signed> {
    const before = target.received.length;
    await owner.carillon.hooks.test(id);
    return (await target.arrived(before + 1))[before] ?? assert.fail();
  }

  test('X8 off by default: no signature header, no secret, and subscribing returns only the id', async () => {
    const response = await carillon.call(owner, 'POST', '/v2/hooks', {
      target_url: target.at('/off'),
      event: 'new_client',
    });
    assert.deepEqual(Object.keys(response.json), ['id']);
    const { headers } = await next(response.json.id);
    const sent = ['host', 'connection', 'content-type', 'user-agent', 'webhook-id', 'content-length'];
    assert.deepEqual(Object.keys(headers).sort(), sent.sort());
    const hook = await owner.carillon.hooks.get(response.json.id);
    assert.deepEqual([hook.signed, hook.secret_created, hook.secret_previous_until], ['0', NEVER, NEVER]);
    await owner.carillon.hooks.delete(response.json.id);
  });

  test('X8 the official library accepts each attempt of a signed hook unchanged, and no changed one', async (t) => {
    const failing = await startTarget(t, 500, 200);
    const id = await hookOf(owner, failing);
    const { secret, date_created, previous_until } = await owner.carillon.hooks.createSecret(id);
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(previous_until, NEVER);
    const hook = await owner.carillon.hooks.get(id);
    assert.deepEqual([hook.signed, hook.secret_created, hook.secret_previous_until], ['1', date_created, NEVER]);

    const { client_id } = await owner.carillon.clients.create({ client_name: 'ACME' });
    await failing.arrived(1);
    await eventually(
      () => owner.carillon.hooks.get(id),
      ({ state }) => state === 'failing',
    );
    await clock.advance(90_000);
    const [first, again] = await failing.arrived(2);
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
    const [, , once] = await failing.arrived(3);
    assert.ok(once !== undefined && isSignedBy(secret, once), 'what is sent again is signed, too');
    await owner.carillon.hooks.delete(id);
    await owner.carillon.hooks.restore(id);
    await owner.carillon.hooks.test(id);
    const [, , , restored] = await failing.arrived(4);
    assert.ok(restored !== undefined && isSignedBy(secret, restored), 'a restored hook signs as before');
    await owner.carillon.hooks.delete(id);
  });

  test('X8 after a rotation the previous secrets are valid for the requested overlap; off means unsigned', async () => {
    const id = await hookOf(owner);
    const one = await owner.carillon.hooks.createSecret(id);
    const two = await owner.carillon.hooks.createSecret(id, { overlap: HOUR });
    // The response may have been lost: a receiver with the first secret still accepts notifications.
    const three = await owner.carillon.hooks.createSecret(id);
    assert.equal((await owner.carillon.hooks.get(id)).secret_previous_until, three.previous_until);
    const takes = async () => {
      const notification = await next(id);
      return [one, two, three].map(({ secret }) => isSignedBy(secret, notification));
    };
    assert.deepEqual(await takes(), [true, true, true]);
    await clock.advance(HOUR * 1_000);
    assert.deepEqual(await takes(), [false, true, true], 'a later overlap lengthens no earlier one');
    await clock.advance(23 * HOUR * 1_000);
    assert.deepEqual(await takes(), [false, false, true], 'a day by default');
    assert.equal((await owner.carillon.hooks.get(id)).secret_previous_until, NEVER);

    const four = await owner.carillon.hooks.createSecret(id, { overlap: 0 });
    assert.equal(four.previous_until, NEVER);
    assert.deepEqual(await takes(), [false, false, false]);
    const { headers } = await next(id);
    assert.equal(String(headers['webhook-signature']).split(' ').length, 1);

    await owner.carillon.hooks.deleteSecret(id);
    const off = await next(id);
    assert.deepEqual([off.headers['webhook-signature'], off.headers['webhook-timestamp']], [undefined, undefined]);
    const five = await owner.carillon.hooks.createSecret(id);
    assert.equal(five.previous_until, NEVER, 'what was turned off does not come back');
    await owner.carillon.hooks.delete(id);
  });

  test('X4 X8 a secret is returned once: not in a repeated response, the hook or the audit log; 201 has the Location of the hook', async () => {
    const id = await hookOf(owner);
    const headers = { 'idempotency-key': 'sign-1' };
    const first = await sign(owner, id, {}, headers);
    const again = await sign(owner, id, {}, headers);
    const { secret, ...rest } = first.json.data;
    assert.deepEqual([first.status, first.headers.get('location')], [201, `${carillon.baseUrl}/v2/hooks/${id}`]);
    assert.deepEqual([again.status, again.json.data], [201, rest]);
    assert.ok(isSignedBy(secret, await next(id)), 'the repeated call made no other');
    const hook = await carillon.call(owner, 'GET', `/v2/hooks/${id}`);
    assert.equal(hook.json.data.secret, undefined);
    const auditEntries = await carillon.store.read.selectFrom('audit').selectAll().execute();
    assert.ok(auditEntries.some(({ action, subject }) => action === 'hook.signed' && subject === `hook ${id}`));
    for (const text of [hook.text, JSON.stringify(auditEntries)])
      assert.ok(!text.includes(secret.slice('whsec_'.length)));
    await owner.carillon.hooks.delete(id);
  });

  test('X8 the owner and admins may sign a hook: other users get 401, other accounts 404, an ended hook 409', async () => {
    const id = await hookOf(member);
    const unsign = (who: Person) => carillon.call(who, 'DELETE', `/v2/hooks/${id}/secret`);
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
    const refused = await sign(owner, await hookOf(owner), { overlap: 7 * 24 * HOUR + 1 });
    assert.deepEqual([refused.status, refused.json.errors[0].field], [400, 'overlap']);
  });
}
