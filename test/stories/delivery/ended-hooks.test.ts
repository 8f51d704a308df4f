import assert from 'node:assert/strict';
import { createTestClock, TEST_CLOCK_START } from '../../kit/clock.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget } from '../../kit/network/target.ts';
import { setRetentionClock } from '../../kit/service/occurrences.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { name, test, testService } of everyStore) {
  const SECOND_MS = 1_000;
  const HOUR_MS = 3_600 * SECOND_MS;
  const DAY_MS = 24 * HOUR_MS;
  const NO_DATE = '0000-00-00 00:00:00';
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  test('C23 an ended hook shows reason, time and last outcome', async (t) => {
    const clock = createTestClock();
    const carillon = await testService(t, { options: { retryWaits: '1s,1s' }, deps: { clock } });
    const owner = await carillon.createAccount('acme.test');
    const member = await carillon.createUser(owner, 'member');
    const targets = {
      answered_401: await startTarget(t, 401),
      three_failures: await startTarget(t, 503, 404, 410),
      deleted: await startTarget(t, 200),
      user_deleted: await startTarget(t, 204),
    };
    const ids: Record<string, string> = {};
    for (const [reason, target] of Object.entries(targets)) {
      const { id } = await member.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
      ids[reason] = id;
    }
    const hook = (reason: string) => owner.carillon.hooks.get(ids[reason] ?? '');
    await member.carillon.events.create(event);
    for (const failures of ['1', '2']) {
      await eventually(
        () => hook('three_failures'),
        (one) => one.failures === failures,
      );
      if (failures === '1')
        await eventually(
          () => hook('user_deleted'),
          (one) => one.failures === '1',
        );
      targets.user_deleted.setReplies(200);
      await clock.advance(1.1 * SECOND_MS);
    }
    await eventually(
      () => hook('three_failures'),
      (one) => one.state === 'ended',
    );
    await eventually(
      () => hook('user_deleted'),
      (one) => one.last_outcome === '200',
    );
    await clock.advance(60 * SECOND_MS);
    await member.carillon.hooks.delete(ids.deleted ?? '');
    await clock.advance(60 * SECOND_MS);
    await owner.carillon.users.delete(member.userId);

    const expectedEnds: Record<string, { last_outcome: string; failures: string; endedMs: number }> = {
      answered_401: { last_outcome: '401', failures: '0', endedMs: 0 },
      three_failures: { last_outcome: '410', failures: '3', endedMs: 2.2 * SECOND_MS },
      deleted: { last_outcome: '200', failures: '0', endedMs: 62.2 * SECOND_MS },
      user_deleted: { last_outcome: '200', failures: '0', endedMs: 122.2 * SECOND_MS },
    };
    for (const [reason, { last_outcome, failures, endedMs }] of Object.entries(expectedEnds)) {
      const { date_ended, ...ended } = await hook(reason);
      assert.deepEqual(ended, {
        id: ids[reason],
        event: 'new_event',
        events: ['new_event'],
        scope: 'own',
        project_id: '0',
        name: '',
        enabled: '1',
        headers: [],
        target_url: targets[reason as keyof typeof targets].url,
        user_id: member.userId,
        state: 'ended',
        failures,
        next_attempt_at: NO_DATE,
        last_outcome,
        date_created: '2025-05-01 12:00:00',
        ended_reason: reason,
        signed: '0',
        secret_created: NO_DATE,
        secret_previous_until: NO_DATE,
      });
      const at = Date.parse(`${date_ended.replace(' ', 'T')}Z`) - TEST_CLOCK_START;
      assert.ok(Math.abs(at - endedMs) <= 2 * SECOND_MS, `${reason}: ended after ${at} ms`);
    }
  });

  test('C23 an ended hook can be read for 30 days, then is gone; pending deliveries of live hooks are never dropped', async (t) => {
    const options = { retryWaits: '365d,365d' };
    const first = await testService(t, { options, deps: { clock: createTestClock() } });
    const owner = await first.createAccount('acme.test');
    const ended = await owner.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/ended', event: 'new_event' });
    const live = await owner.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/live', event: 'new_event' });
    const healthy = await startTarget(t);
    const delivered = await owner.carillon.hooks.create({ target_url: healthy.url, event: 'new_event' });
    await owner.carillon.events.create(event);
    const deliveriesOf = async (hook_id: string) => (await owner.carillon.deliveries.list({ hook_id })).data;
    await eventually(
      () => deliveriesOf(delivered.id),
      (data) => data[0]?.state === 'delivered',
    );
    for (const { id } of [ended, live]) {
      await eventually(
        () => owner.carillon.hooks.get(id),
        (hook) => hook.state === 'failing',
      );
    }
    await owner.carillon.hooks.delete(ended.id);
    await first.stop();

    /** Starts the service this long after the hook has ended, and waits for its retention run. */
    async function startLater(milliseconds: number) {
      const clock = createTestClock(TEST_CLOCK_START + milliseconds);
      const service = await testService(t, { database: first.database, options, deps: { clock } });
      await setRetentionClock(service.store, clock.now());
      await clock.advance(10 * SECOND_MS);
      // The retention run has finished when the next run is scheduled.
      await eventually(
        () => clock.remainingDelaysMs,
        (pending) => pending.includes(HOUR_MS),
      );
      const status = async (path: string) => (await service.call(owner, 'GET', path)).status;
      const total = async (query: string) =>
        (await service.call(owner, 'GET', `/v2/deliveries?${query}`)).json.paging.total_records;
      const read = async () => ({
        ended: await status(`/v2/hooks/${ended.id}`),
        live: await status(`/v2/hooks/${live.id}`),
        endedPending: await total(`hook_id=${ended.id}`),
        livePending: await total(`hook_id=${live.id}&state=pending`),
        delivered: await total(`hook_id=${delivered.id}`),
      });
      return { read, stop: service.stop };
    }
    const before = await startLater(30 * DAY_MS - 11 * SECOND_MS);
    const kept = { ended: 200, live: 200, endedPending: 1, livePending: 1, delivered: 1 };
    assert.deepEqual(await before.read(), kept);
    await before.stop();
    const later = await startLater(30 * DAY_MS + SECOND_MS);
    const dropped = { ended: 404, live: 200, endedPending: 0, livePending: 1, delivered: 0 };
    // PostgreSQL drops expired rows by weekly partition, so up to a week later.
    const inWeeks = name === 'PostgreSQL';
    assert.deepEqual(await later.read(), inWeeks ? { ...dropped, delivered: 1 } : dropped);
    await later.stop();
    const atLast = await startLater(37 * DAY_MS + SECOND_MS);
    assert.deepEqual(await atLast.read(), dropped);
    await atLast.stop();
  });

  test('C23 deleting a user revokes the keys, ends the hooks, frees the targets and leaves the records', async (t) => {
    const carillon = await testService(t, { options: { retryWaits: '1h,1h' } });
    const owner = await carillon.createAccount('acme.test');
    const member = await carillon.createUser(owner, 'member');
    const second = await carillon.createKey(member, {});
    const bystander = await carillon.createUser(owner, 'member');
    const target = await startTarget(t, 500);
    const { id } = await member.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const spared = await bystander.carillon.hooks.create({ target_url: target.urlOf('/spared'), event: 'new_event' });
    const record = await member.carillon.events.create(event);
    await eventually(
      () => owner.carillon.hooks.get(id),
      (hook) => hook.state === 'failing',
    );
    await owner.carillon.users.delete(member.userId);

    for (const key of [member, second]) assert.equal((await carillon.call(key, 'GET', '/v2/user')).status, 401);
    assert.equal((await carillon.call(bystander, 'GET', '/v2/user')).status, 200);
    assert.equal((await owner.carillon.hooks.get(id)).ended_reason, 'user_deleted');
    assert.equal((await bystander.carillon.hooks.get(spared.id)).state, 'live');
    assert.deepEqual(await owner.carillon.events.get(record.event_id), record);
    const { data } = await owner.carillon.hooks.list({ user_id: member.userId });
    assert.deepEqual(
      data.map((hook) => hook.id),
      [id],
      'an admin still sees it',
    );
    await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
  });

  test('C23 revoking a key ends no hook, not even one created with it: deliveries continue', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const made = await owner.carillon.keys.create({ label: 'soon gone', permissions: ['hooks:write', 'events:read'] });
    const narrow = { ...owner.headers, key: made.key ?? '' };
    const target = await startTarget(t);
    const body = { target_url: target.url, event: 'new_event' };
    const subscribed = await carillon.call(undefined, 'POST', '/v2/hooks', body, narrow);
    assert.equal(subscribed.status, 201);
    await owner.carillon.keys.revoke(made.id);
    assert.equal((await carillon.call(undefined, 'GET', '/v2/user', undefined, narrow)).status, 401);
    assert.equal((await owner.carillon.hooks.get(subscribed.json.id)).state, 'live');
    const { event_id } = await owner.carillon.events.create(event);
    const [delivered] = await target.waitForArrivals(1);
    assert.ok(delivered?.resourceUrl.endsWith(`/events/${event_id}`));
  });
}
