import assert from 'node:assert/strict';
import type { AttemptOutcome } from '../../../src/delivery/dispatcher/retry-policy.ts';
import type { SendAttempt } from '../../../src/delivery/transport/attempt.ts';
import { createTestClock } from '../../kit/clock.ts';
import { eventually } from '../../kit/eventually.ts';
import { stores } from '../../kit/service/stores.ts';

for (const { test, testService } of stores) {
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  test('--max-hooks-per-account limits the hooks of each account, also for concurrent requests', async (t) => {
    const carillon = await testService(t, { options: { maxHooks: '3' } });
    const owner = await carillon.createAccount('acme.test');
    const hook = (number: number, who = owner) =>
      carillon.call(who, 'POST', '/v2/hooks', {
        target_url: `http://127.0.0.1:9/${who.domain}/${number}`,
        event: 'new_event',
      });
    const responses = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((number) => hook(number)));
    const made = responses.filter(({ status }) => status === 201).map(({ json }) => json.id);
    const refused = responses.filter(({ status }) => status === 409).map(({ json }) => json.code);
    assert.deepEqual([made.length, refused], [3, Array(5).fill('too_many_hooks')]);
    const other = await carillon.createAccount('other.test');
    assert.equal((await hook(1, other)).status, 201, 'another account has its own quota');

    assert.equal((await carillon.call(owner, 'DELETE', `/v2/hooks/${made[0]}`)).status, 200);
    assert.equal((await hook(9)).status, 201, 'an ended hook is not counted');
    const restored = await carillon.call(owner, 'POST', `/v2/hooks/${made[0]}/restore`);
    assert.deepEqual([restored.status, restored.json.code], [409, 'too_many_hooks']);
    assert.equal(
      (await carillon.call(owner, 'GET', `/v2/hooks/${made[0]}`)).json.data.state,
      'ended',
      'the hook stays ended',
    );
  });

  test('above --max-pending-per-account, requests that add pending deliveries get 429 until the number falls; nothing is dropped', async (t) => {
    const outcomes: ((outcome: AttemptOutcome) => void)[] = [];
    let hangs = true;
    const success: AttemptOutcome = { kind: 'answered', status: 200, durationMs: 1 };
    const receivedBodies: string[] = [];
    const attempt: SendAttempt = ({ body, signal }) => {
      const { promise, resolve } = Promise.withResolvers<AttemptOutcome>();
      signal.addEventListener('abort', () => resolve({ kind: 'local_error', code: 'stopped', durationMs: 1 }));
      const end = (outcome: AttemptOutcome) => {
        receivedBodies.push(body);
        resolve(outcome);
      };
      if (hangs) outcomes.push(end);
      else end(success);
      return promise;
    };
    const carillon = await testService(t, { options: { maxPending: '3' }, deps: { sendAttempt: attempt } });
    const owner = await carillon.createAccount('acme.test');
    const member = await carillon.createUser(owner, 'member');
    const other = await carillon.createAccount('other.test');
    const create = (who = owner) => carillon.call(who, 'POST', '/v2/events', event);
    const hook = async (who: typeof owner) =>
      (await who.carillon.hooks.create({ target_url: `http://127.0.0.1:9/${who.domain}`, event: 'new_event' })).id;
    const hookId = await hook(owner);
    await hook(other);
    let made = 0;
    const refused = await eventually(create, ({ status }) => {
      if (status === 201) made += 1;
      return status !== 201;
    });
    assert.deepEqual(
      [refused.status, refused.json.code, refused.headers.get('retry-after')],
      [429, 'pending_quota_exceeded', '10'],
    );
    const count = async (table: 'events' | 'pending_deliveries' | 'occurrences') =>
      (await carillon.store.read.selectFrom(table).select('account_id').execute()).length;
    assert.ok(made > 3);
    assert.deepEqual(
      [await count('events'), await count('pending_deliveries'), await count('occurrences')],
      [made, made, made],
      'each request is stored completely or not at all',
    );

    // One hook test is allowed, but a second one is not.
    const testHook = () => carillon.call(owner, 'POST', `/v2/hooks/${hookId}/test`);
    assert.equal((await testHook()).status, 202);
    const again = await testHook();
    assert.deepEqual([again.status, again.json.code], [429, 'pending_quota_exceeded']);

    // Requests that add no delivery, reads and other accounts are not affected.
    assert.equal((await create(member)).status, 201);
    assert.equal((await carillon.call(owner, 'POST', '/v2/clients', { client_name: 'ACME' })).status, 201);
    assert.equal((await carillon.call(owner, 'GET', '/v2/events')).status, 200);
    assert.equal((await create(other)).status, 201);

    // An ended hook has no pending deliveries. After its restore, the missed deliveries are pending.
    assert.equal((await carillon.call(owner, 'DELETE', `/v2/hooks/${hookId}`)).status, 200);
    await eventually(
      () => create(),
      ({ status }) => status === 201,
    );
    await eventually(
      () => carillon.call(owner, 'POST', `/v2/hooks/${hookId}/restore`),
      ({ status }) => status === 200,
    );
    const full = await eventually(
      () => create(),
      ({ status }) => status === 429,
    );
    assert.equal(full.json.code, 'pending_quota_exceeded');
    hangs = false;
    for (const end of outcomes.splice(0)) end(success);
    await eventually(
      () => create(),
      ({ status }) => status === 201,
    );
    const ofOwner = async () => {
      const { data } = await owner.carillon.events.list({ limit: 1_000 });
      const own = data.filter(({ user_id }) => user_id === owner.userId);
      return own.map(({ event_id }) => `${carillon.baseUrl}/v2/events/${event_id}`);
    };
    const due = await ofOwner();
    await eventually(
      () => new Set(receivedBodies.map((body) => JSON.parse(body).resource_url)),
      (received) => due.every((address) => received.has(address)),
    );
  });

  test('the quota counts current pending deliveries, even if no request was made for a long time', async (t) => {
    const clock = createTestClock();
    // Attempts return only at the end of the test.
    const result = Promise.withResolvers<AttemptOutcome>();
    const attempt: SendAttempt = () => result.promise;
    const carillon = await testService(t, { options: { maxPending: '3' }, deps: { sendAttempt: attempt, clock } });
    const owner = await carillon.createAccount('acme.test');
    const create = async () => (await carillon.call(owner, 'POST', '/v2/events', event)).status;
    const hook = () => owner.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/', event: 'new_event' });
    const { id } = await hook();
    const statuses: number[] = [];
    for (let call = 0; call < 6; call += 1) {
      await clock.advance(60_000);
      statuses.push(await create());
    }
    assert.deepEqual(statuses, [201, 201, 201, 201, 429, 429], 'the quota is read before the response');
    await owner.carillon.hooks.delete(id);
    await hook();
    await clock.advance(60_000);
    assert.equal(await create(), 201);
    result.resolve({ kind: 'answered', status: 200, durationMs: 1 });
  });
}
