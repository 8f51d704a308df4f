import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { ActivityDelivery, ActivityFilters } from '../../../packages/sdk/src/activity.ts';
import { createTestClock } from '../../../test/kit/clock.ts';
import { eventually, eventuallyAfterSteps } from '../../../test/kit/eventually.ts';
import { startTarget } from '../../../test/kit/network/target.ts';
import { insertRows } from '../../../test/kit/service/full-accounts.ts';
import type { ApiUser, TestService } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { MAX_PAGE_BYTES } from '../../http/routes/list-response.ts';

for (const { test, testService } of stores) {
  const NEVER = '0000-00-00 00:00:00';
  const day = { start_date: '20270101', due_date: '20270102' };

  /** Starts a service with a test clock, and creates an account and a target that responds with 200. */
  async function setUp(t: TestContext) {
    const clock = createTestClock();
    const carillon = await testService(t, { deps: { clock } });
    const owner = await carillon.createAccount('acme.test');
    const target = await startTarget(t);
    const consoleOf = async (who: ApiUser) => (await carillon.signIn(who)).console;
    const watch = await consoleOf(owner);
    const list = async (filters?: ActivityFilters) => (await watch.activity.list(filters)).data;
    /** Waits until the single delivery of the newest entry matches, and returns it. */
    const told = (wanted: (one: ActivityDelivery) => boolean) =>
      eventually(
        async () => (await list())[0]?.deliveries[0],
        (one) => one !== undefined && wanted(one),
      );
    /** Advances the clock, so that the recorded fetches are stored. */
    const written = async () => {
      await clock.advance(1_000);
    };
    return { clock, carillon, owner, target, consoleOf, watch, list, told, written };
  }

  const isDelivered = ({ state }: ActivityDelivery) => state === 'delivered';
  const isFetched = ({ fetched_at }: ActivityDelivery) => fetched_at !== NEVER;

  test('a delivery that was never read shows its outcome and no fetch', async (t) => {
    const { owner, target, list, told, carillon } = await setUp(t);
    const { id: hook_id } = await owner.carillon.hooks.create({ target_url: target.urlOf('/a'), event: 'new_event' });
    const { event_id } = await owner.carillon.events.create({ event_name: 'Launch', ...day });
    const delivery = await told(isDelivered);
    const [entry] = await list();
    assert.deepEqual(entry, {
      cursor: '1',
      kind: 'new_event',
      resource_url: `${carillon.baseUrl}/v2/events/${event_id}`,
      record_id: event_id,
      user_id: owner.userId,
      project_id: '0',
      previous_project_id: '0',
      fields: [],
      occurred_at: '2025-05-01 12:00:00',
      deliveries: [delivery],
    });
    assert.ok(delivery);
    const { id, milliseconds, ...rest } = delivery;
    assert.equal(id, target.received[0]?.deliveryId);
    assert.match(milliseconds, /^\d+$/);
    assert.deepEqual(rest, {
      hook_id,
      target_url: target.urlOf('/a'),
      user_id: owner.userId,
      state: 'delivered',
      last_outcome: '200',
      attempts: '1',
      created_at: '2025-05-01 12:00:00',
      date_finalized: '2025-05-01 12:00:00',
      fetched_at: NEVER,
    });
  });

  test('an entry shows the changed fields, the project and the project that the record left', async (t) => {
    const { owner, list } = await setUp(t);
    const [from, to] = [
      await owner.carillon.projects.create({ project_name: 'From' }),
      await owner.carillon.projects.create({ project_name: 'To' }),
    ];
    const { event_id } = await owner.carillon.events.create({
      event_name: 'Launch',
      project_id: from.project_id,
      ...day,
    });
    await owner.carillon.events.update(event_id, { project_id: to.project_id, event_name: 'Landing' });
    const [entry] = await list({ kind: ['changed_event', 'deleted_event'], project_id: from.project_id });
    assert.deepEqual(
      [entry?.kind, entry?.project_id, entry?.previous_project_id],
      ['changed_event', to.project_id, from.project_id],
    );
    assert.deepEqual(entry?.fields.toSorted(), ['event_name', 'project_id']);
  });

  test('a delivery shows the fetch of its record, also one before the 200 and one of a record fetched earlier', async (t) => {
    const { clock, owner, target, told, carillon, written } = await setUp(t);
    await owner.carillon.hooks.create({ target_url: target.urlOf('/a'), event: 'new_event' });
    let tag = '';
    target.setReplies((response, { resourceUrl }) => {
      const answer = async () => {
        const { status, headers } = await carillon.call(owner, 'GET', new URL(resourceUrl).pathname);
        assert.equal(status, 200);
        tag = headers.get('etag') ?? '';
        response.writeHead(200).end();
      };
      void answer();
    });
    const { event_id } = await owner.carillon.events.create({ event_name: 'Launch', ...day });
    await told(isDelivered);
    await written();
    assert.equal((await told(isFetched))?.fetched_at, '2025-05-01 12:00:00');
    await clock.advance(60_000);
    const known = await carillon.call(owner, 'GET', `/v2/events/${event_id}`, undefined, { 'if-none-match': tag });
    assert.equal(known.status, 304);
    await written();
    await told(({ fetched_at }) => fetched_at === '2025-05-01 12:01:01');
  });

  test('fetches by another user, by the console or in a list do not count', async (t) => {
    const { carillon, clock, owner, target, told, written, watch, list } = await setUp(t);
    const admin = await carillon.createUser(owner, 'admin');
    await owner.carillon.hooks.create({ target_url: target.urlOf('/a'), event: 'new_event' });
    const { event_id } = await owner.carillon.events.create({ event_name: 'Launch', ...day });
    await told(isDelivered);
    // The admin is notified too, but of another event.
    await admin.carillon.hooks.create({ target_url: target.urlOf('/b'), event: 'new_event' });
    await admin.carillon.events.create({ event_name: 'Other', ...day });
    await target.waitForArrivals(2);
    await admin.carillon.events.get(event_id);
    await watch.events.get(event_id);
    await owner.carillon.events.list();
    assert.equal((await carillon.call(owner, 'HEAD', `/v2/events/${event_id}`)).status, 200);
    await written();
    // Only the admin's fetch is stored.
    const fetches = await eventually(
      () => carillon.store.read.selectFrom('read_receipts').selectAll().execute(),
      (rows) => rows.length > 0,
    );
    assert.deepEqual(
      fetches.map(({ user_id, resource_type, record_id, fetched_at }) => [
        user_id,
        resource_type,
        record_id,
        fetched_at,
      ]),
      [[Number(admin.userId), 'event', Number(event_id), clock.now() - 1_000]],
    );
    const shown = await list({ scope: 'account' });
    assert.deepEqual(
      shown.map(({ deliveries }) => deliveries.map(({ fetched_at }) => fetched_at)),
      [[NEVER], [NEVER]],
    );
  });

  test('a fetch before the delivery became pending does not count', async (t) => {
    const { carillon, clock, owner, target, told, written } = await setUp(t);
    await owner.carillon.hooks.create({ target_url: target.urlOf('/a'), event: 'completed_task' });
    const { project_id } = await owner.carillon.projects.create({ project_name: 'P' });
    const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'T' });
    await owner.carillon.tasks.get(task_id);
    await written();
    await eventually(
      () => carillon.store.read.selectFrom('read_receipts').selectAll().execute(),
      (rows) => rows.length > 0,
    );
    await clock.advance(1_000);
    await owner.carillon.tasks.complete(task_id);
    assert.equal((await told(isDelivered))?.fetched_at, NEVER);
    await owner.carillon.tasks.get(task_id);
    await written();
    await told(isFetched);
  });

  test('the last fetches are stored at shutdown', async (t) => {
    const { carillon, owner } = await setUp(t);
    const { event_id } = await owner.carillon.events.create({ event_name: 'Launch', ...day });
    await owner.carillon.events.get(event_id);
    await carillon.service.stop();
    assert.equal((await carillon.store.read.selectFrom('read_receipts').selectAll().execute()).length, 1);
  });

  test('pending, failing and undelivered deliveries show their number of attempts', async (t) => {
    const { clock, owner, target, told, watch } = await setUp(t);
    target.setReplies(500);
    const { id } = await owner.carillon.hooks.create({ target_url: target.urlOf('/a'), event: 'new_client' });
    await owner.carillon.clients.create({ client_name: 'ACME' });
    const failing = await told(({ attempts }) => attempts === '1');
    assert.deepEqual([failing?.state, failing?.last_outcome, failing?.date_finalized], ['pending', '500', NEVER]);
    await eventuallyAfterSteps(
      () => clock.advance(1_000),
      async () => (await watch.hooks.get(id)).state,
      (state) => state === 'ended',
    );
    const ended = await told(({ state }) => state === 'undelivered');
    assert.deepEqual([ended?.attempts, ended?.target_url], ['3', target.urlOf('/a')]);
  });

  test('pages have no gaps and no repeats, and are in order, while others write', async (t) => {
    const { owner, watch } = await setUp(t);
    const { clients } = owner.carillon;
    for (let made = 0; made < 25; made += 1) await clients.create({ client_name: `${made}` });
    const seen: number[] = [];
    let before: string | undefined;
    do {
      const [{ data, next }] = await Promise.all([
        watch.activity.list({ limit: 4, before }),
        clients.create({ client_name: 'meanwhile' }),
      ]);
      seen.push(...data.map(({ cursor }) => Number(cursor)));
      before = next;
    } while (before !== '');
    const [newest = 0] = seen;
    assert.ok(newest >= 25);
    assert.deepEqual(
      seen,
      Array.from({ length: newest }, (_, index) => newest - index),
    );
  });

  test('a member sees own occurrences, an admin those of the account; filtered by kind and by hook', async (t) => {
    const { carillon, owner, target, consoleOf, list } = await setUp(t);
    const member = await carillon.createUser(owner, 'member');
    const theirs = await consoleOf(member);
    const { id: hook_id } = await member.carillon.hooks.create({ target_url: target.urlOf('/m'), event: 'new_client' });
    await owner.carillon.clients.create({ client_name: 'By the owner' });
    await member.carillon.clients.create({ client_name: 'By the member' });
    await member.carillon.events.create({ event_name: 'By the member', ...day });
    const cursorsOf = (rows: readonly { cursor: string }[]) => rows.map(({ cursor }) => cursor);
    assert.deepEqual(cursorsOf(await list()), ['1']);
    assert.deepEqual(cursorsOf(await list({ scope: 'account' })), ['3', '2', '1']);
    assert.deepEqual(cursorsOf(await list({ scope: 'account', kind: 'new_client' })), ['2', '1']);
    assert.deepEqual(cursorsOf((await theirs.activity.list()).data), ['3', '2']);
    assert.deepEqual(cursorsOf(await list({ hook_id })), ['2'], 'an admin, of a hook of another user');
    assert.deepEqual(cursorsOf((await theirs.activity.list({ hook_id })).data), ['2']);
    await assert.rejects(theirs.activity.list({ scope: 'account' }), { code: 'not_permitted' });
    const { id: owners } = await owner.carillon.hooks.create({ target_url: target.urlOf('/o'), event: 'new_client' });
    await assert.rejects(theirs.activity.list({ hook_id: owners }), { code: 'not_permitted' });
    await assert.rejects(list({ hook_id: '999999' }), { code: 'not_found' });
    await assert.rejects(list({ before: 'x' }), { code: 'invalid_input' });
    const stranger = await consoleOf(await carillon.createAccount('other.test'));
    await assert.rejects(stranger.activity.list({ hook_id }), { code: 'not_found' });
    assert.deepEqual((await stranger.activity.list({ scope: 'account' })).data, []);
    assert.deepEqual((await list())[0]?.deliveries, [], 'nobody was told of what the owner did');
  });

  test('activity of a hook is also filtered by project', async (t) => {
    const { owner, target, list } = await setUp(t);
    const { hooks, projects, tasks } = owner.carillon;
    const { project_id: a } = await projects.create({ project_name: 'A' });
    const { project_id: b } = await projects.create({ project_name: 'B' });
    const of = { events: ['new_task'] as const };
    const { id: all } = await hooks.create({ target_url: target.urlOf('/all'), ...of, scope: 'account' });
    const { id: ofA } = await hooks.create({
      ...{ target_url: target.urlOf('/a'), ...of },
      ...{ scope: 'project', project_id: a },
    });
    for (const project_id of [a, b, a]) await tasks.create(project_id, { task_name: 'T' });
    const cursorsOf = async (hook_id: string, project_id?: string) =>
      (await list({ hook_id, ...(project_id && { project_id }) })).map(({ cursor }) => cursor);
    assert.deepEqual(await cursorsOf(all), ['5', '4', '3']);
    assert.deepEqual(await cursorsOf(all, b), ['4']);
    assert.deepEqual(await cursorsOf(all, a), ['5', '3']);
    assert.deepEqual(await cursorsOf(ofA), ['5', '3']);
    assert.deepEqual(await cursorsOf(ofA, b), []);
  });

  test('activity of a hook is not searched before its creation or after its end', async (t) => {
    const { clock, owner, target, watch, told } = await setUp(t);
    const { clients } = owner.carillon;
    const some = async () => {
      for (let made = 0; made < 5; made += 1) await clients.create({ client_name: `${made}` });
    };
    await some();
    await clock.advance(120_000);
    const { id: hook_id } = await owner.carillon.hooks.create({ target_url: target.urlOf('/a'), event: 'new_client' });
    await clients.create({ client_name: 'told' });
    await told(isDelivered);
    await owner.carillon.hooks.delete(hook_id);
    await clock.advance(120_000);
    await some();
    const { data, next } = await watch.activity.list({ hook_id, limit: 1 });
    assert.deepEqual([data.map(({ cursor }) => cursor), next], [['6'], '6']);
    assert.deepEqual(await watch.activity.list({ hook_id, before: next }), { data: [], next: '' });
  });

  test('a page ends before its maximum number of deliveries is exceeded, and the next page continues there', async (t) => {
    const { carillon, owner, watch } = await setUp(t);
    await owner.carillon.clients.create({ client_name: 'One' });
    await owner.carillon.clients.create({ client_name: 'Two' });
    await owner.carillon.clients.create({ client_name: 'Three' });
    await insertDeliveries(carillon, owner, { position: 3, hooks: 300 });
    await insertDeliveries(carillon, owner, { position: 2, hooks: 300 });
    await insertDeliveries(carillon, owner, { position: 1, hooks: 1_200 });
    const pages = [];
    for (let before: string | undefined; before !== ''; ) {
      const { data, next } = await watch.activity.list({ before });
      pages.push(data.map(({ cursor, deliveries }) => [cursor, deliveries.length]));
      before = next;
    }
    assert.deepEqual(pages, [[['3', 300]], [['2', 300]], [['1', 500]]]);
  });

  test('a page of deliveries to the longest target URLs is within the size limit of a list page', async (t) => {
    const { carillon, owner, watch } = await setUp(t);
    await owner.carillon.clients.create({ client_name: 'One' });
    const { account_id } = await carillon.store.read
      .selectFrom('occurrences')
      .select('account_id')
      .executeTakeFirstOrThrow();
    const userId = Number(owner.userId);
    const target = `https://receiver.test/${'€'.repeat(2_026)}`;
    const hooks = Array.from({ length: 600 }, (_, index) => ({
      ...{ account_id, user_id: userId, hook_id: 10 + index, kind: 'new_client', target, date_created: 0 },
    }));
    await insertRows(carillon.store, 'hooks', hooks);
    await insertDeliveries(carillon, owner, { position: 1, hooks: 600 });
    const pending = hooks.map(({ hook_id }) => ({
      ...{ account_id, user_id: userId, hook_id, delivery_id: 50_000 + hook_id, position: 1, created_at: 0 },
      ...{ kind: 'new_client', record_id: 1 },
    }));
    await insertRows(carillon.store, 'pending_deliveries', pending);
    const { data } = await watch.activity.list();
    assert.equal(data[0]?.deliveries.length, 1_000);
    assert.ok(Buffer.byteLength(JSON.stringify(data)) < MAX_PAGE_BYTES);
  });

  /** Inserts finalized deliveries of an occurrence to a number of hooks. */
  async function insertDeliveries(
    { store }: TestService,
    { userId }: ApiUser,
    wanted: { position: number; hooks: number },
  ) {
    await store.write(async ({ queries }) => {
      const { account_id, record_id, kind } = await queries
        .selectFrom('occurrences')
        .selectAll()
        .where('position', '=', wanted.position)
        .executeTakeFirstOrThrow();
      const told = { account_id, record_id, kind, user_id: Number(userId), position: wanted.position };
      const rows = Array.from({ length: wanted.hooks }, (_, index) => ({
        ...told,
        ...{ delivery_id: wanted.position * 10_000 + index, hook_id: 10 + index },
        ...{ created_at: 0, finalized_at: 0, state: 'delivered' },
      }));
      await queries.insertInto('finalized_deliveries').values(rows).execute();
    });
  }
}
