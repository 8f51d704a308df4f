import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { type HookKind, hookKinds } from '../../../packages/sdk/src/index.ts';
import type { SendAttempt } from '../../../src/delivery/transport/attempt.ts';
import { recordOccurrences } from '../../kit/service/occurrences.ts';
import type { ApiUser } from '../../kit/service/service.ts';
import { everyStore } from '../../kit/service/stores.ts';

for (const { test, testService } of everyStore) {
  // The recipients are decided in the transaction of an occurrence, so pending deliveries show them. All attempts fail.
  const attempt: SendAttempt = async () => ({ kind: 'failed', cause: 'refused', durationMs: 0 });
  const carillon = await testService({ after }, { options: { retryWaits: '1h,1h' }, deps: { sendAttempt: attempt } });
  const owner = await carillon.createAccount('acme.test');
  const admin = await carillon.createUser(owner, 'admin');
  const member = await carillon.createUser(owner, 'member');
  const other = await carillon.createUser(owner, 'member');
  const otherOwner = await carillon.createAccount('other.test');
  const people = { owner, admin, member, other, otherOwner };

  /** The hooks of every user for every kind, by hook id. */
  const hooks = new Map<string, { who: string; kind: HookKind }>();
  before(async () => {
    for (const [who, person] of Object.entries(people)) {
      for (const kind of hookKinds) {
        const target_url = `http://127.0.0.1:9/${who}/${kind}`;
        const { id } = await person.carillon.hooks.create({ target_url, event: kind });
        hooks.set(id, { who, kind });
      }
    }
  });

  /** Runs `happen`, and returns its result and the deliveries that became pending meanwhile, as "user kind". */
  async function deliveriesDuring<T>(happen: () => Promise<T>): Promise<{ notified: string[]; result: T }> {
    const pending = () =>
      carillon.store.read.selectFrom('pending_deliveries').selectAll().orderBy('delivery_id').execute();
    const known = new Set((await pending()).map((row) => row.delivery_id));
    const result = await happen();
    const fresh = (await pending()).filter((row) => !known.has(row.delivery_id));
    const notified = fresh.map((row) => {
      const hook = hooks.get(String(row.hook_id));
      assert.equal(row.kind, hook?.kind, 'a hook is notified of its own kind');
      return `${hook?.who} ${hook?.kind}`;
    });
    return { notified: notified.sort(), result };
  }

  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  /** Creates one record of each resource. */
  async function createOneOfEach(who: ApiUser, fields: { user_id?: string } = {}) {
    const { carillon: as } = who;
    await as.clients.create({ client_name: 'ACME', ...fields });
    await as.events.create({ ...event, ...fields });
    const project = await as.projects.create({ project_name: 'Bells', ...fields });
    const task = await as.tasks.create(project.project_id, { task_name: 'Cast', ...fields });
    const subtask = await as.subtasks.create(task.task_id, { subtask_name: 'Melt', ...fields });
    return { task, subtask };
  }

  for (const who of ['owner', 'admin', 'member'] as const) {
    test(`C14 records that the ${who} creates and completes notify the hooks of the ${who} for that kind, and no others`, async () => {
      const { notified } = await deliveriesDuring(async () => {
        const { task, subtask } = await createOneOfEach(people[who]);
        await people[who].carillon.subtasks.complete(subtask.subtask_id);
        await people[who].carillon.tasks.complete(task.task_id);
      });
      assert.deepEqual(notified, hookKinds.map((kind) => `${who} ${kind}`).sort());
    });
  }

  test('C14 a record that an admin creates for a member notifies only the member', async () => {
    for (const by of [admin, owner]) {
      const { notified, result } = await deliveriesDuring(() => createOneOfEach(by, { user_id: member.userId }));
      assert.equal(result.task.user_id, member.userId);
      const creations = hookKinds.filter((kind) => kind.startsWith('new_'));
      assert.deepEqual(notified, creations.map((kind) => `member ${kind}`).sort());
    }
  });

  test('C14 a completion notifies the user who completed the record, not its creator', async () => {
    const { task, subtask } = await createOneOfEach(member);
    const first = await deliveriesDuring(() => other.carillon.subtasks.complete(subtask.subtask_id));
    assert.deepEqual(first.notified, ['other completed_subtask']);
    const second = await deliveriesDuring(() => admin.carillon.tasks.complete(task.task_id));
    assert.deepEqual(second.notified, ['admin completed_task']);
  });

  test('C14 C33 open subtasks completed with their task notify the user who completed the task', async () => {
    const { task } = await createOneOfEach(member);
    await other.carillon.subtasks.create(task.task_id, { subtask_name: 'Pour' });
    const { notified } = await deliveriesDuring(() => owner.carillon.tasks.complete(task.task_id));
    assert.deepEqual(notified, ['owner completed_subtask', 'owner completed_subtask', 'owner completed_task']);
  });

  test('C14 a member who names another user gets 401 before the user is looked up', async () => {
    const bodies = [member, admin, otherOwner].map(({ userId }) => userId).concat('999999');
    const { notified } = await deliveriesDuring(async () => {
      const texts = new Set<string>();
      for (const user_id of bodies) {
        const response = await carillon.call(other, 'POST', '/v2/events', { ...event, user_id });
        assert.equal(response.status, 401);
        texts.add(response.text);
      }
      assert.equal(texts.size, 1);
    });
    assert.deepEqual(notified, []);
    const own = await deliveriesDuring(() => other.carillon.events.create({ ...event, user_id: other.userId }));
    assert.deepEqual(own.notified, ['other new_event'], 'users may name themselves');
  });

  test('C14 an admin who names an unknown user gets 404, and no hook is notified', async () => {
    const { notified } = await deliveriesDuring(async () => {
      for (const user_id of [otherOwner.userId, '999999']) {
        assert.equal((await carillon.call(admin, 'POST', '/v2/events', { ...event, user_id })).status, 404);
      }
    });
    assert.deepEqual(notified, []);
  });

  test('C14 changing the creator later, as admins may, notifies no hook', async () => {
    const created = await member.carillon.events.create(event);
    const { notified } = await deliveriesDuring(() =>
      admin.carillon.events.update(created.event_id, { user_id: other.userId }),
    );
    assert.deepEqual(notified, []);
    const response = await carillon.call(member, 'PUT', `/v2/events/${created.event_id}`, { user_id: member.userId });
    assert.equal(response.status, 401);
  });

  test('C14 updates and deletions notify no hook', async () => {
    const { notified } = await deliveriesDuring(async () => {
      const created = await otherOwner.carillon.events.create(event);
      await otherOwner.carillon.events.update(created.event_id, { event_name: 'Later' });
      await otherOwner.carillon.events.delete(created.event_id);
    });
    assert.deepEqual(notified, ['otherOwner new_event']);
  });

  test('C14 two hooks of one user for one kind are both notified; a hook created later is not notified of earlier occurrences', async () => {
    const newcomer = await carillon.createUser(owner, 'member');
    const make = async (path: string) => {
      const target_url = `http://127.0.0.1:9/newcomer/${path}`;
      const { id } = await newcomer.carillon.hooks.create({ target_url, event: 'new_event' });
      hooks.set(id, { who: path, kind: 'new_event' });
    };
    const early = await deliveriesDuring(() => newcomer.carillon.events.create(event));
    assert.deepEqual(early.notified, []);
    await make('first');
    await make('second');
    const both = await deliveriesDuring(() => newcomer.carillon.events.create(event));
    assert.deepEqual(both.notified, ['first new_event', 'second new_event']);
    const nothingMore = await deliveriesDuring(() => make('third'));
    assert.deepEqual(nothingMore.notified, []);
  });
}

for (const { test, testService } of everyStore) {
  // Only admins may name another creator or change user_id (C14). Members are rejected before the user is looked
  // up, so that they cannot find out which users exist.

  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const otherOwner = await carillon.createAccount('other.test');
  const admin = await carillon.createUser(owner, 'admin');
  const member = await carillon.createUser(owner, 'member');
  const colleague = await carillon.createUser(owner, 'member');
  const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
  const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'Cast' });

  /** Every resource with a creator: its paths and the required fields. */
  const resourceTypes = [
    {
      resourceType: 'event',
      at: '/v2/events',
      parent: '',
      body: { event_name: 'E', start_date: '20270101', due_date: '20270101' },
    },
    { resourceType: 'client', at: '/v2/clients', parent: '', body: { client_name: 'C' } },
    { resourceType: 'project', at: '/v2/projects', parent: '', body: { project_name: 'P' } },
    { resourceType: 'task', at: '/v2/tasks', parent: `/${project_id}`, body: { task_name: 'T' } },
    { resourceType: 'subtask', at: '/v2/subtasks', parent: `/${task_id}`, body: { subtask_name: 'S' } },
  ];

  for (const { resourceType, at, parent, body } of resourceTypes) {
    const create = (who: ApiUser, user_id?: unknown) =>
      carillon.call(who, 'POST', `${at}${parent}`, user_id === undefined ? body : { ...body, user_id });
    const createdBy = async (who: ApiUser) => (await create(who)).json.data;
    const idOf = (data: Record<string, string>) => data[`${resourceType}_id`] ?? '';
    const change = (who: ApiUser, id: string, changes: unknown) => carillon.call(who, 'PUT', `${at}/${id}`, changes);
    const unknownUsers = ['999999', otherOwner.userId];

    test(`C14 ${resourceType}: the recorded creator is the caller, unless an admin names another user`, async () => {
      for (const user_id of [undefined, member.userId, Number(member.userId), '0', 0, '', null]) {
        const { result, recorded } = await recordOccurrences(carillon, owner, () => create(member, user_id));
        assert.deepEqual([result.status, result.json.data?.user_id], [201, member.userId], JSON.stringify(user_id));
        assert.deepEqual(recorded, [
          { kind: `new_${resourceType}`, record_id: idOf(result.json.data), user_id: member.userId },
        ]);
      }
      for (const who of [owner, admin]) {
        const { result, recorded } = await recordOccurrences(carillon, owner, () => create(who, colleague.userId));
        assert.deepEqual([result.status, result.json.data?.user_id], [201, colleague.userId]);
        assert.deepEqual(recorded, [
          { kind: `new_${resourceType}`, record_id: idOf(result.json.data), user_id: colleague.userId },
        ]);
      }
    });

    test(`C14 ${resourceType}: a member who names another user is rejected in the same way, whether or not that user exists`, async () => {
      const record = await createdBy(member);
      const { recorded } = await recordOccurrences(carillon, owner, async () => {
        const responses = [];
        for (const user_id of [colleague.userId, owner.userId, ...unknownUsers]) {
          responses.push(await create(member, user_id), await change(member, idOf(record), { user_id }));
        }
        for (const { status, json } of responses) assert.deepEqual([status, json.code], [401, 'not_permitted']);
        assert.equal(new Set(responses.map((response) => response.text)).size, 1, 'byte for byte the same');
      });
      assert.deepEqual(recorded, []);
      assert.deepEqual((await carillon.call(owner, 'GET', `${at}/${idOf(record)}`)).json.data, record);
    });

    test(`C14 C26 ${resourceType}: an admin who names an unknown user gets 404`, async () => {
      const record = await createdBy(member);
      const { recorded } = await recordOccurrences(carillon, owner, async () => {
        for (const user_id of unknownUsers) {
          for (const { status, json } of [
            await create(admin, user_id),
            await change(admin, idOf(record), { user_id }),
          ]) {
            assert.deepEqual([status, json.code], [404, 'not_found'], user_id);
          }
        }
      });
      assert.deepEqual(recorded, []);
    });

    test(`C2 C14 ${resourceType}: a member may change another user's record, but not take it over`, async () => {
      const record = await createdBy(owner);
      const taken = await change(member, idOf(record), { user_id: member.userId });
      assert.deepEqual([taken.status, taken.json.code], [401, 'not_permitted']);
      const named = { [`${resourceType}_name`]: 'Changed', user_id: owner.userId };
      const { result, recorded } = await recordOccurrences(carillon, owner, () => change(member, idOf(record), named));
      assert.deepEqual(
        [result.status, result.json.data.user_id],
        [200, owner.userId],
        'naming the current creator changes nothing',
      );
      assert.deepEqual(recorded, [
        { kind: `changed_${resourceType}`, record_id: idOf(record), user_id: member.userId },
      ]);
      const given = await change(admin, idOf(record), { user_id: colleague.userId });
      assert.deepEqual([given.status, given.json.data.user_id], [200, colleague.userId]);
      for (const user_id of ['0', 0, '', null]) {
        const kept = await change(member, idOf(record), { user_id });
        assert.deepEqual([kept.status, kept.json.data.user_id], [200, colleague.userId], JSON.stringify(user_id));
      }
    });
  }
}
