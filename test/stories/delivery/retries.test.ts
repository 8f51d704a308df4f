import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { createTestClock, fixedJitterRandom, TEST_CLOCK_START } from '../../kit/clock.ts';
import { eventually } from '../../kit/eventually.ts';
import { startTarget, type TargetReply } from '../../kit/network/target.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  const SECOND_MS = 1_000;
  const MINUTE_MS = 60 * SECOND_MS;
  const HOUR_MS = 60 * MINUTE_MS;
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  const toMilliseconds = (text: string) => Date.parse(`${text.replace(' ', 'T')}Z`);

  /** Starts a service with the default waits on a test clock, and a hook whose target has scripted responses. */
  async function startFixture(t: TestContext, fraction: number, ...replies: TargetReply[]) {
    const clock = createTestClock();
    const carillon = await testService(t, {
      options: { retryWaits: '1m,2h' },
      deps: { clock, random: fixedJitterRandom(fraction) },
    });
    const owner = await carillon.createAccount('acme.test');
    const target = await startTarget(t, ...replies);
    const healthy = await startTarget(t);
    const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
    const other = await owner.carillon.hooks.create({ target_url: healthy.url, event: 'new_event' });
    const hook = () => owner.carillon.hooks.get(id);
    /** Creates an event, and waits until it is delivered to the healthy hook, so that the clock may advance. */
    async function create() {
      const created = await owner.carillon.events.create(event);
      await eventually(
        () => owner.carillon.deliveries.list({ hook_id: other.id, state: 'pending' }),
        ({ paging }) => paging.total_records === 0,
      );
      return created;
    }
    return {
      carillon,
      clock,
      owner,
      target,
      healthy,
      id,
      hook,
      create,
      /** Waits until the hook has this number of failures, and returns the hook. */
      waitForFailures: (failures: number) => eventually(hook, (one) => one.failures === String(failures)),
      /**
       * Asserts the number of notifications. The delivery of a later event to the healthy hook shows that no
       * further notification is in transit.
       */
      async assertReceived(count: number) {
        await create();
        assert.equal(target.received.length, count);
      },
    };
  }

  for (const fraction of [0, 0.5, 0.999]) {
    test(`C18 the default waits are a minute and two hours, each with up to a tenth of jitter (${fraction})`, async (t) => {
      const { clock, target, hook, create, waitForFailures, assertReceived } = await startFixture(t, fraction, 500);
      await create();
      await target.waitForArrivals(1);
      const first = await waitForFailures(1);
      assert.equal(first.state, 'failing');
      const firstWaitMs = Math.round(MINUTE_MS * (1 + 0.1 * fraction));
      assert.ok(Math.abs(toMilliseconds(first.next_attempt_at) - (TEST_CLOCK_START + firstWaitMs)) < SECOND_MS);

      await clock.advance(firstWaitMs - 1);
      await assertReceived(1);
      await clock.advance(1);
      await target.waitForArrivals(2);
      await waitForFailures(2);

      const secondWaitMs = Math.round(2 * HOUR_MS * (1 + 0.1 * fraction));
      await clock.advance(secondWaitMs - 1);
      await assertReceived(2);
      await clock.advance(1);
      await target.waitForArrivals(3);
      const ended = await eventually(hook, (one) => one.state === 'ended');
      assert.equal(ended.ended_reason, 'three_failures');
      assert.equal(new Set(target.received.map((one) => one.deliveryId)).size, 1, 'the same delivery each time');

      await clock.advance(48 * HOUR_MS);
      await assertReceived(3);
    });
  }

  test('C18 during a wait nothing else is sent to that target; after a 200 everything is', async (t) => {
    const { clock, target, create, waitForFailures, assertReceived } = await startFixture(t, 0, 500, 200);
    const first = await create();
    await waitForFailures(1);
    await create();
    await create();
    await assertReceived(1);
    await clock.advance(MINUTE_MS);
    const all = await target.waitForArrivals(5);
    assert.ok(all[1]?.resourceUrl.endsWith(`/${first.event_id}`), 'what failed is tried first');
    assert.equal(new Set(all.map((one) => one.deliveryId)).size, 4);
  });

  test('C17 C18 a 200 resets the count: repeated sequences of two failures and a 200 do not end the hook', async (t) => {
    const pattern: TargetReply[] = [500, 204, 200];
    const { clock, target, hook, create, waitForFailures } = await startFixture(
      t,
      0,
      ...pattern,
      ...pattern,
      ...pattern,
    );
    for (let round = 1; round <= 3; round += 1) {
      await create();
      await waitForFailures(1);
      await clock.advance(MINUTE_MS);
      await waitForFailures(2);
      await clock.advance(2 * HOUR_MS);
      await target.waitForArrivals(3 * round);
      const { state } = await waitForFailures(0);
      assert.equal(state, 'live');
    }
    assert.equal((await hook()).last_outcome, '200');
  });

  test('C18 a target that is down for an hour keeps its hook with the default waits', async (t) => {
    const { clock, owner, target, id, hook, create, waitForFailures } = await startFixture(t, 0, 503);
    await create();
    await waitForFailures(1);
    await clock.advance(MINUTE_MS);
    await waitForFailures(2);
    await clock.advance(HOUR_MS - MINUTE_MS);
    target.setReplies(200);
    await clock.advance(HOUR_MS + MINUTE_MS);
    await eventually(hook, (one) => one.state === 'live' && one.last_outcome === '200');
    const { paging } = await owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' });
    assert.equal(paging.total_records, 1);
  });

  const httpDate = (milliseconds: number) => new Date(TEST_CLOCK_START + milliseconds).toUTCString();
  const retryAfters: readonly { header: string; waitMs: number }[] = [
    { header: '1', waitMs: MINUTE_MS },
    { header: '0', waitMs: MINUTE_MS },
    { header: '300', waitMs: 5 * MINUTE_MS },
    { header: '86400', waitMs: 24 * HOUR_MS },
    { header: '9999999999', waitMs: 24 * HOUR_MS },
    { header: httpDate(10 * MINUTE_MS), waitMs: 10 * MINUTE_MS },
    { header: httpDate(10 * SECOND_MS), waitMs: MINUTE_MS },
    { header: httpDate(-HOUR_MS), waitMs: MINUTE_MS },
    { header: httpDate(400 * 24 * HOUR_MS), waitMs: 24 * HOUR_MS },
    { header: 'Thursday, 01-May-25 12:30:00 GMT', waitMs: 30 * MINUTE_MS },
    { header: 'Thu May  1 12:45:00 2025', waitMs: 45 * MINUTE_MS },
    { header: '-5', waitMs: MINUTE_MS },
    { header: 'soon', waitMs: MINUTE_MS },
    { header: '1.5', waitMs: MINUTE_MS },
    { header: '', waitMs: MINUTE_MS },
  ];

  test('C18 Retry-After, in seconds or as a date, lengthens a wait, never shortens it, and is limited to a day', async (t) => {
    const { clock, owner, create } = await startFixture(t, 0, 200);
    const cases = await Promise.all(
      retryAfters.map(async ({ header, waitMs }) => {
        const target = await startTarget(t, { status: 503, headers: { 'retry-after': header } }, 200);
        const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_event' });
        return { header, waitMs, target, hook: () => owner.carillon.hooks.get(id) };
      }),
    );
    await create();
    for (const { header, waitMs, hook } of cases) {
      const { next_attempt_at } = await eventually(hook, (one) => one.failures === '1');
      assert.equal(toMilliseconds(next_attempt_at), TEST_CLOCK_START + waitMs, `Retry-After: ${header}`);
    }
    for (const waitMs of [...new Set(cases.map((one) => one.waitMs))].sort((a, b) => a - b)) {
      await clock.advance(TEST_CLOCK_START + waitMs - 1 - clock.now());
      await create();
      for (const { target } of cases.filter((one) => one.waitMs >= waitMs)) assert.equal(target.received.length, 1);
      await clock.advance(1);
      for (const { hook } of cases.filter((one) => one.waitMs === waitMs)) {
        await eventually(hook, (one) => one.state === 'live');
      }
    }
  });

  test('C18 failures in one burst count once: its 200s complete their deliveries, the wait continues, and the failed delivery is retried first', async (t) => {
    const { clock, owner, target, id, create, waitForFailures, hook, assertReceived } = await startFixture(t, 0, 200);
    for (let count = 1; count <= 8; count += 1) {
      await create();
      await target.waitForArrivals(count);
      await eventually(
        () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
        ({ paging }) => paging.total_records === count,
      );
    }
    const open: ServerResponse[] = [];
    target.setReplies((response) => void open.push(response));
    for (let more = 0; more < 10; more += 1) await create();
    const burst = (await target.waitForArrivals(16)).slice(8);
    target.setReplies(200);
    open[3]?.writeHead(500).end();
    await waitForFailures(1);
    const { next_attempt_at } = await hook();
    for (const index of [0, 1]) open[index]?.writeHead(200).end();
    for (const index of [2, 4, 5, 6, 7]) open[index]?.writeHead(502).end();
    const list = await eventually(
      () => owner.carillon.deliveries.list({ hook_id: id }),
      // The 200s and the 502s may be stored in separate transactions.
      ({ data }) =>
        data.filter((one) => one.last_outcome === '502').length === 5 &&
        data.filter((one) => one.state === 'delivered').length >= 10,
    );
    assert.equal(list.data.filter((one) => one.state === 'delivered').length, 10);
    const after = await hook();
    assert.deepEqual([after.failures, after.state, after.next_attempt_at], ['1', 'failing', next_attempt_at]);
    await assertReceived(16);

    await clock.advance(MINUTE_MS);
    const all = await target.waitForArrivals(16 + 6 + 2 + 1);
    assert.equal(all[16]?.deliveryId, burst[3]?.deliveryId);
    const retry = await eventually(
      () => owner.carillon.deliveries.get(burst[5]?.deliveryId ?? ''),
      ({ state }) => state === 'delivered',
    );
    assert.deepEqual(
      retry.attempts.map(({ outcome, counted }) => [outcome, counted]),
      [
        ['502', '0'],
        ['200', '0'],
      ],
    );
  });

  test('C18 a 401 in a burst ends the hook, even after the burst has failed', async (t) => {
    const { owner, target, id, create, hook, waitForFailures } = await startFixture(t, 0, 200);
    await create();
    await eventually(
      () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' }),
      ({ paging }) => paging.total_records === 1,
    );
    const open: ServerResponse[] = [];
    target.setReplies((response) => void open.push(response));
    await create();
    await create();
    await target.waitForArrivals(3);
    open[0]?.writeHead(500).end();
    await waitForFailures(1);
    open[1]?.writeHead(401).end();
    const ended = await eventually(hook, (one) => one.state === 'ended');
    assert.equal(ended.ended_reason, 'answered_401');
  });

  test('C18 a wait outlives a restart: the same delivery is retried at the same time, and not before', async (t) => {
    const { carillon, clock, target, create, waitForFailures } = await startFixture(t, 0, 500, 200);
    const first = await create();
    await waitForFailures(1);
    await create();
    await carillon.stop();

    const again = await testService(t, {
      database: carillon.database,
      options: { retryWaits: '1m,2h' },
      deps: { clock },
    });
    const newcomer = await again.createAccount('newcomer.test');
    const healthy = await startTarget(t);
    await newcomer.carillon.hooks.create({ target_url: healthy.url, event: 'new_event' });
    await clock.advance(MINUTE_MS - 1);
    await newcomer.carillon.events.create(event);
    await healthy.waitForArrivals(1);
    assert.equal(target.received.length, 1);
    await clock.advance(1);
    const [before, retry] = await target.waitForArrivals(3);
    assert.equal(retry?.deliveryId, before?.deliveryId);
    assert.ok(retry?.resourceUrl.endsWith(`/v2/events/${first.event_id}`));
  });
}
