import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { ActivityFilters } from '../../../packages/sdk/src/activity.ts';
import type { FeedEntry } from '../../../packages/sdk/src/index.ts';
import { eventually } from '../../kit/eventually.ts';
import { type ReceivedNotification, startTarget, type Target } from '../../kit/network/target.ts';
import type { ApiUser, Json } from '../../kit/service/service.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  const carillon = await testService({ after }, { options: { retryWaits: '1h,1h' } });
  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
  let accountCount = 0;

  /** Creates an account with an owner, an admin and a member. */
  async function createTeam() {
    accountCount += 1;
    const owner = await carillon.createAccount(`team-${accountCount}.test`);
    const [admin, member] = [await carillon.createUser(owner, 'admin'), await carillon.createUser(owner, 'member')];
    return { owner, admin, member };
  }

  async function createHook(who: ApiUser, body: Record<string, unknown>): Promise<string> {
    const { status, json } = await carillon.call(who, 'POST', '/v2/hooks', body);
    assert.equal(status, 201, JSON.stringify(json));
    return json.id;
  }

  const putHook = async (who: ApiUser, id: string, body: Record<string, unknown>): Promise<Json> => {
    const { status, json } = await carillon.call(who, 'PUT', `/v2/hooks/${id}`, body);
    assert.equal(status, 200, JSON.stringify(json));
    return json.data;
  };

  /** Returns the entries of the account's feed, the oldest first. */
  async function readFeed(owner: ApiUser): Promise<readonly FeedEntry[]> {
    return (await owner.carillon.notifications.list({ scope: 'account' })).data;
  }

  /** One line about a feed entry, in the words of a notification about it. */
  const lineOfEntry = ({ cursor, kind, resource_url, fields }: FeedEntry) =>
    `${cursor} ${kind} ${resource_url} ${kind.startsWith('changed_') ? fields.join() : '-'}`;

  const lineOfNotification = ({ headers, resourceUrl }: ReceivedNotification) =>
    `${headers['webhook-cursor']} ${headers['webhook-event']} ${resourceUrl} ${headers['webhook-fields'] ?? '-'}`;

  /** Waits until a target has exactly the notifications of these feed entries. */
  async function assertReceived(target: Target, entries: readonly FeedEntry[]): Promise<void> {
    const received = await target.waitForArrivals(entries.length);
    await target.catchUp();
    assert.deepEqual(received.map(lineOfNotification).sort(), entries.map(lineOfEntry).sort());
  }

  /** Creates, changes, moves, assigns, completes, reopens and deletes records as a user. Returns the two projects. */
  async function workAs({ carillon: as, userId }: ApiUser) {
    const project = await as.projects.create({ project_name: 'Bells' });
    const other = await as.projects.create({ project_name: 'Towers' });
    const { event_id } = await as.events.create({ ...event, project_id: project.project_id });
    await as.events.update(event_id, { due_date: '20270105' });
    await as.events.update(event_id, { project_id: other.project_id });
    const { task_id } = await as.tasks.create(project.project_id, { task_name: 'Cast' });
    const { subtask_id } = await as.subtasks.create(task_id, { subtask_name: 'Melt' });
    await as.timeEntries.create(task_id, { seconds: 60 });
    await as.comments.create(project.project_id, { comment: 'Loud', task_id });
    await as.tasks.update(task_id, { users: [userId] });
    await as.tasks.complete(task_id);
    await as.tasks.update(task_id, { resume: 1 });
    await as.subtasks.update(subtask_id, { resume: 1 });
    const { client_id } = await as.clients.create({ client_name: 'Foundry' });
    await as.projects.update(project.project_id, { client_id });
    await as.clients.delete(client_id);
    await as.events.delete(event_id);
    await as.tasks.delete(task_id);
    return { project, other };
  }

  test('X11 a hook for a whole account receives exactly the feed, with kind, cursor and changed fields', async (t) => {
    const { owner, admin, member } = await createTeam();
    const target = await startTarget(t);
    const start = (await readFeed(owner)).length;
    await createHook(admin, { target_url: target.url, events: ['*'], scope: 'account' });
    await workAs(member);
    await workAs(owner);
    const entries = (await readFeed(owner)).slice(start);
    const kinds = new Set(entries.map(({ kind }) => kind));
    for (const kind of ['changed_event', 'assigned_task', 'reopened_task', 'reopened_subtask', 'deleted_comment'])
      assert.ok(kinds.has(kind as FeedEntry['kind']), kind);
    await assertReceived(target, entries);
  });

  test('X11 a hook with scope own receives what its user caused, a hook with kinds only these', async (t) => {
    const { owner, member } = await createTeam();
    const [all, some] = [await startTarget(t), await startTarget(t)];
    await createHook(member, { target_url: all.url, events: ['*'] });
    const events = ['changed_event', 'deleted_task', 'completed_subtask'];
    await createHook(member, { target_url: some.url, events });
    const start = (await readFeed(owner)).length;
    await workAs(owner);
    await workAs(member);
    const entries = (await readFeed(owner)).slice(start).filter(({ user_id }) => user_id === member.userId);
    await assertReceived(all, entries);
    await assertReceived(
      some,
      entries.filter(({ kind }) => events.includes(kind)),
    );
  });

  test('X11 a hook with scope project receives what anybody does in the project, and what leaves it', async (t) => {
    const { owner, member } = await createTeam();
    const { project, other } = await workAs(owner);
    const [ofProject, ofOther] = [await startTarget(t), await startTarget(t)];
    const subscribe = (target: Target, project_id: string) =>
      createHook(member, { target_url: target.url, events: ['*'], scope: 'project', project_id });
    await subscribe(ofProject, project.project_id);
    await subscribe(ofOther, other.project_id);
    const start = (await readFeed(owner)).length;
    const { event_id } = await owner.carillon.events.create({ ...event, project_id: project.project_id });
    await owner.carillon.events.update(event_id, { project_id: other.project_id });
    const { task_id } = await owner.carillon.tasks.create(project.project_id, { task_name: 'Tune' });
    const { subtask_id } = await owner.carillon.subtasks.create(task_id, { subtask_name: 'File' });
    await owner.carillon.timeEntries.create(task_id, { seconds: 60, subtask_id });
    await owner.carillon.comments.create(project.project_id, { comment: 'C', task_id });
    await owner.carillon.tasks.update(task_id, { project_id: other.project_id });
    await workAs(owner);
    await owner.carillon.projects.delete(project.project_id);
    await owner.carillon.projects.delete(other.project_id);
    const entries = (await readFeed(owner)).slice(start);
    const isIn = (id: string) => (entry: FeedEntry) => [entry.project_id, entry.previous_project_id].includes(id);
    await assertReceived(ofProject, entries.filter(isIn(project.project_id)));
    await assertReceived(ofOther, entries.filter(isIn(other.project_id)));
    const moves = entries.filter((entry) => entry.previous_project_id === project.project_id);
    assert.deepEqual(
      moves.map(({ kind, project_id }) => [kind, project_id]),
      [
        ['changed_event', other.project_id],
        ['changed_comment', other.project_id],
        ['changed_task', other.project_id],
      ],
    );
    const { data } = await owner.carillon.notifications.list({ scope: 'project', project_id: project.project_id });
    assert.deepEqual(
      data.slice(-entries.filter(isIn(project.project_id)).length),
      entries.filter(isIn(project.project_id)),
    );
  });

  test('X11 who loses the admin role is notified of nothing more, also not of what the hook misses until it is restored', async (t) => {
    const { owner, admin, member } = await createTeam();
    const target = await startTarget(t);
    const id = await createHook(admin, { target_url: target.url, events: ['new_event'], scope: 'account' });
    await member.carillon.events.create(event);
    await target.waitForArrivals(1);
    await owner.carillon.users.update(admin.userId, { role: 'member' });
    const hook = await owner.carillon.hooks.get(id);
    assert.deepEqual([hook.state, hook.ended_reason], ['ended', 'role_lost']);
    await member.carillon.events.create(event);
    const restore = () => carillon.call(admin, 'POST', `/v2/hooks/${id}/restore`);
    assert.equal((await restore()).json.code, 'not_permitted');
    await owner.carillon.users.update(admin.userId, { role: 'admin' });
    assert.equal((await restore()).status, 200);
    const last = await member.carillon.events.create(event);
    const received = await target.waitForArrivals(2);
    await target.catchUp();
    assert.deepEqual(
      received.slice(1).map(({ resourceUrl }) => resourceUrl.split('/').at(-1)),
      [last.event_id],
    );
  });

  test('X11 * holds only kinds that the key of the hook may read', async (t) => {
    const { owner } = await createTeam();
    const narrow = await carillon.createKey(owner, { permissions: ['hooks:read', 'hooks:write', 'events:read'] });
    const target = await startTarget(t);
    await createHook(narrow, { target_url: target.url, events: ['*'], scope: 'account' });
    await owner.carillon.clients.create({ client_name: 'Secret' });
    const { event_id } = await owner.carillon.events.create(event);
    const received = await target.waitForArrivals(1);
    await target.catchUp();
    assert.deepEqual(
      received.map(({ resourceUrl }) => resourceUrl),
      [`${carillon.baseUrl}/v2/events/${event_id}`],
    );
    for (const body of [
      { target_url: target.urlOf('/2'), events: ['new_event', 'new_client'] },
      { target_url: target.urlOf('/3'), event: 'new_task' },
    ])
      assert.equal((await carillon.call(narrow, 'POST', '/v2/hooks', body)).json.code, 'not_permitted');
    // A hook that reports more than the key may read cannot be sent elsewhere with it.
    const id = await createHook(owner, { target_url: target.urlOf('/4'), events: ['*'] });
    for (const change of [{ target_url: target.urlOf('/5') }, { scope: 'account' }])
      assert.equal((await carillon.call(narrow, 'PUT', `/v2/hooks/${id}`, change)).json.code, 'not_permitted');
  });

  test('X11 X13 a hook with a new subscription reports only that, also of what it misses until it is restored', async (t) => {
    const { owner, member } = await createTeam();
    const { project, other } = await workAs(owner);
    const [changed, narrowed] = [await startTarget(t), await startTarget(t)];
    const id = await createHook(owner, { target_url: changed.url, events: ['*'], scope: 'account' });
    const { project_id } = project;
    const events = ['new_event', 'new_task', 'changed_task'];
    await putHook(owner, id, { events, scope: 'project', project_id });
    const permissions = ['hooks:read', 'hooks:write', 'events:read'] as const;
    const narrow = await carillon.createKey(owner, { permissions });
    const narrowId = await createHook(narrow, { target_url: narrowed.url, events: ['*'], scope: 'account' });
    const start = (await readFeed(owner)).length;
    const work = async () => {
      await member.carillon.events.create(event);
      await member.carillon.events.create({ ...event, project_id });
      const { task_id } = await member.carillon.tasks.create(project_id, { task_name: 'Cast' });
      await member.carillon.tasks.update(task_id, { project_id: other.project_id });
      await member.carillon.clients.create({ client_name: 'Foundry' });
    };
    const assertBothReceived = async () => {
      const entries = (await readFeed(owner)).slice(start);
      const isIn = (one: FeedEntry) => [one.project_id, one.previous_project_id].includes(project_id);
      await assertReceived(
        changed,
        entries.filter((one) => isIn(one) && events.includes(one.kind)),
      );
      await assertReceived(
        narrowed,
        entries.filter(({ kind }) => kind.endsWith('_event')),
      );
    };
    await work();
    await assertBothReceived();
    for (const ended of [id, narrowId]) await owner.carillon.hooks.delete(ended);
    await work();
    for (const ended of [id, narrowId]) await owner.carillon.hooks.restore(ended);
    await assertBothReceived();
  });

  test('X13 a hook gets a new target: failures go back to 0, and the old target receives nothing more', async (t) => {
    const { owner } = await createTeam();
    const [old, fresh] = [await startTarget(t, 500), await startTarget(t)];
    const id = await createHook(owner, { target_url: old.url, events: ['new_event'] });
    const { event_id } = await owner.carillon.events.create(event);
    await old.waitForArrivals(1);
    await eventually(
      () => owner.carillon.hooks.get(id),
      ({ state }) => state === 'failing',
    );
    const changed = await putHook(owner, id, { target_url: fresh.url, name: 'Moved' });
    assert.deepEqual([changed.failures, changed.state, changed.name], ['0', 'live', 'Moved']);
    const [first] = await fresh.waitForArrivals(1);
    assert.equal(first?.resourceUrl, `${carillon.baseUrl}/v2/events/${event_id}`);
    await owner.carillon.events.create(event);
    await fresh.waitForArrivals(2);
    assert.equal(old.received.length, 1);
    // The old target is free, and the new one is taken.
    await createHook(owner, { target_url: old.url, events: ['deleted_event'] });
    const { json } = await carillon.call(owner, 'POST', '/v2/hooks', { target_url: fresh.url, event: 'new_event' });
    assert.equal(json.code, 'target_taken');
    const other = await createHook(owner, { target_url: old.urlOf('/other'), event: 'new_event' });
    const conflict = await carillon.call(owner, 'PUT', `/v2/hooks/${other}`, { target_url: fresh.url, name: 'X' });
    assert.equal(conflict.json.code, 'target_taken');
    assert.equal((await owner.carillon.hooks.get(other)).name, '');
  });

  test('X13 a disabled hook sends nothing and loses nothing, and sends everything in order when it is enabled', async (t) => {
    const { owner } = await createTeam();
    const target = await startTarget(t);
    const id = await createHook(owner, { target_url: target.url, events: ['new_event'], enabled: 0 });
    const create = async (count: number) => {
      for (let number = 0; number < count; number += 1) await owner.carillon.events.create(event);
    };
    await create(2);
    await putHook(owner, id, { enabled: 1 });
    await target.waitForArrivals(2);
    await putHook(owner, id, { enabled: '0' });
    await create(40);
    const { paging } = await owner.carillon.deliveries.list({ hook_id: id, state: 'pending' });
    assert.equal(paging.total_records, 40);
    const [delivered] = (await owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' })).data;
    for (const path of [`hooks/${id}/test`, `deliveries/${delivered?.id}/redeliver`]) {
      const { status, json } = await carillon.call(owner, 'POST', `/v2/${path}`);
      assert.deepEqual([path, status, json.code], [path, 409, 'hook_disabled']);
    }
    await target.catchUp();
    assert.equal(target.received.length, 2);
    assert.equal((await putHook(owner, id, { enabled: true })).enabled, '1');
    const entries = (await readFeed(owner)).filter(({ kind }) => kind === 'new_event');
    await assertReceived(target, entries);
  });

  test('X13 a replay sends the deliveries of an interval again under their ids, and its failures end nothing', async (t) => {
    const { owner } = await createTeam();
    const target = await startTarget(t);
    const id = await createHook(owner, { target_url: target.url, events: ['new_event'] });
    for (let number = 0; number < 5; number += 1) await owner.carillon.events.create(event);
    const sent = [...(await target.waitForArrivals(5))];
    const idsOf = (some: readonly ReceivedNotification[]) => some.map(({ deliveryId }) => deliveryId).sort();
    const finalized = () => owner.carillon.deliveries.list({ hook_id: id, state: 'delivered' });
    await eventually(finalized, ({ paging }) => paging.total_records === 5);
    const replay = (from: string, to: string) => carillon.call(owner, 'POST', `/v2/hooks/${id}/replay`, { from, to });
    const all = ['20200101', '2099-12-31 23:59:59'] as const;
    const { status, json } = await replay(...all);
    assert.deepEqual([status, json.data], [202, { hook_id: id, deliveries: 5 }]);
    assert.deepEqual(idsOf((await target.waitForArrivals(10)).slice(5)), idsOf(sent));
    assert.equal((await replay('20200101', '20200102')).json.data.deliveries, 0);
    target.setReplies(500);
    await replay(...all);
    await target.waitForArrivals(15);
    const detail = () => owner.carillon.deliveries.get(String(sent[4]?.deliveryId));
    await eventually(detail, ({ attempts }) => attempts.length === 3);
    const hook = await owner.carillon.hooks.get(id);
    assert.deepEqual([hook.state, hook.failures], ['live', '0']);
    const wrong = await replay('20270102', '20270101');
    assert.deepEqual([wrong.status, wrong.json.errors], [400, [{ field: 'from', message: 'must not be after to' }]]);
  });

  test('X11 headers of a hook are sent with each attempt, and their values are never shown', async (t) => {
    const { owner } = await createTeam();
    const target = await startTarget(t, (response, { headers }) => {
      response.writeHead(500).end(`you sent ${headers['x-gateway']}`);
    });
    const id = await createHook(owner, {
      target_url: target.url,
      events: ['new_event'],
      headers: { 'X-Gateway': 'hush-hush-4711', Authorization: 'Bearer hush-hush-4712' },
    });
    await owner.carillon.events.create(event);
    const [received] = await target.waitForArrivals(1);
    assert.equal(received?.headers['x-gateway'], 'hush-hush-4711');
    assert.equal(received?.headers.authorization, 'Bearer hush-hush-4712');
    const detail = () => owner.carillon.deliveries.get(String(received?.deliveryId));
    const { attempts } = await eventually(detail, (one) => one.attempts.length === 1);
    assert.equal(attempts[0]?.response, 'you sent …');
    const shown = [await owner.carillon.hooks.get(id), await owner.carillon.hooks.list(), attempts];
    assert.doesNotMatch(JSON.stringify(shown), /hush/);
    assert.deepEqual((await owner.carillon.hooks.get(id)).headers, ['x-gateway', 'authorization']);
    assert.deepEqual((await putHook(owner, id, { headers: {} })).headers, []);
  });

  test('C21 the first KiB of a failed response is kept for its owner and admins, without control characters', async (t) => {
    const { owner, member } = await createTeam();
    const body = `\u001b[31mé${'x'.repeat(2_000)}`;
    const target = await startTarget(t, (response) => void response.writeHead(418).end(body));
    await createHook(owner, { target_url: target.url, events: ['new_event'] });
    await owner.carillon.events.create(event);
    const [received] = await target.waitForArrivals(1);
    const id = String(received?.deliveryId);
    const { attempts } = await eventually(
      () => owner.carillon.deliveries.get(id),
      (one) => one.attempts.length === 1,
    );
    assert.equal(attempts[0]?.response, `\u{fffd}[31mé${'x'.repeat(1_024 - 7)}`);
    assert.equal((await carillon.call(member, 'GET', `/v2/deliveries/${id}`)).json.code, 'not_permitted');
  });

  test('C21 a failed response whose body never ends is recorded with the text that arrived', async (t) => {
    const { owner } = await createTeam();
    const target = await startTarget(t, (response) => void response.writeHead(503).write('busy'));
    await createHook(owner, { target_url: target.url, events: ['new_event'] });
    await owner.carillon.events.create(event);
    const [received] = await target.waitForArrivals(1);
    const detail = () => owner.carillon.deliveries.get(String(received?.deliveryId));
    const { attempts } = await eventually(detail, (one) => one.attempts.length === 1);
    assert.deepEqual([attempts[0]?.outcome, attempts[0]?.response], ['503', 'busy']);
  });

  test('X14 the feed filters by several kinds and by project', async () => {
    const { owner } = await createTeam();
    const { project } = await workAs(owner);
    const feed = async (query: string) => (await carillon.call(owner, 'GET', `/v2/notifications${query}`)).json;
    const kindsOf = (page: Json) => new Set(page.data.map(({ kind }: FeedEntry) => kind));
    assert.deepEqual(kindsOf(await feed('?kind=new_event,deleted_event')), new Set(['new_event', 'deleted_event']));
    const inProject = (await feed(`?project_id=${project.project_id}`)).data;
    assert.ok(inProject.length > 5 && inProject.every((one: Json) => JSON.stringify(one).includes(project.project_id)));
    for (const query of ['?kind=new_event,', '?kind=nothing', '?kind=new_event&kind=new_task', '?scope=project'])
      assert.equal((await feed(query)).code, 'invalid_input', query);
  });

  test('X11 bad input names the field, and nothing is written', async (t) => {
    const { owner, member } = await createTeam();
    const target = await startTarget(t);
    const { project } = await workAs(owner);
    const good = { target_url: target.url, events: ['new_event'] };
    const { event: _, ...base } = { ...good, event: undefined };
    const many = Object.fromEntries(Array.from({ length: 6 }, (_value, index) => [`x-${index}`, 'v']));
    const rows: readonly (readonly [body: Record<string, unknown>, field: string])[] = [
      [{ ...base, event: 'new_event' }, 'events'],
      ...[[], 'new_event', ['new_thing'], ['new_event', 'new_event'], ['*', 'new_event'], [7], null].map(
        (events) => [{ ...good, events }, 'events'] as const,
      ),
      [{ ...good, scope: 'team' }, 'scope'],
      [{ ...good, project_id: project.project_id }, 'project_id'],
      [{ ...good, scope: 'project' }, 'project_id'],
      [{ ...good, scope: 'account', project_id: project.project_id }, 'project_id'],
      [{ ...good, name: 'a\nb' }, 'name'],
      [{ ...good, enabled: 'yes' }, 'enabled'],
      ...[
        many,
        ['x-a'],
        { 'x a': 'v' },
        { '': 'v' },
        { Host: 'v' },
        { 'Webhook-Id': 'v' },
        { 'content-length': '1' },
        { 'x-a': 'v', 'X-A': 'v' },
        { 'x-a': 'a\r\nb: c' },
        { 'x-a': 'a\nb' },
        { 'x-a': '' },
        { 'x-a': 7 },
        { 'x-a': 'v'.repeat(4_097) },
        { [`x-${'a'.repeat(64)}`]: 'v' },
        'x-a: v',
      ].map((headers) => [{ ...good, headers }, 'headers'] as const),
    ];
    const id = await createHook(owner, { target_url: target.urlOf('/other'), events: ['new_event'] });
    const before = await owner.carillon.hooks.get(id);
    for (const [body, field] of rows) {
      for (const [method, path] of [
        ['POST', '/v2/hooks'],
        ['PUT', `/v2/hooks/${id}`],
      ] as const) {
        const { status, json } = await carillon.call(owner, method, path, body);
        assert.equal(status, 400, `${method} ${JSON.stringify(body)}`);
        assert.deepEqual(
          json.errors.map((one: Json) => one.field),
          [field],
          `${method} ${JSON.stringify(body)}`,
        );
      }
    }
    const unknown = { ...good, scope: 'project', project_id: '999999' };
    assert.equal((await carillon.call(owner, 'POST', '/v2/hooks', unknown)).status, 404);
    const wide = { ...good, scope: 'account' };
    assert.equal((await carillon.call(member, 'POST', '/v2/hooks', wide)).json.code, 'not_permitted');
    const { paging } = await owner.carillon.hooks.list();
    assert.equal(paging.total_records, 1);
    assert.deepEqual(await owner.carillon.hooks.get(id), before);
  });

  test('X11 a member does not see the hooks of others in the activity of an own occurrence', async (t) => {
    const { owner, member } = await createTeam();
    const target = await startTarget(t);
    await createHook(owner, { target_url: target.urlOf('/secret'), events: ['*'], scope: 'account' });
    await member.carillon.events.create(event);
    await target.waitForArrivals(1);
    const activityOf = async (who: ApiUser, filters?: ActivityFilters) =>
      JSON.stringify(await (await carillon.signIn(who)).console.activity.list(filters));
    assert.match(await activityOf(owner, { scope: 'account' }), /secret/);
    assert.doesNotMatch(await activityOf(member), /secret/);
  });
}
