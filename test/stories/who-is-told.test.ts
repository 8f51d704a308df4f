import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { type Kind, kinds } from '../../packages/sdk/src/index.ts';
import type { Attempt } from '../../src/delivery/transport/attempt.ts';
import type { Person } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';

for (const { test, testService } of stores) {
  // Who is told is decided when it happens, so what is pending says it all; here nobody ever answers.
  const attempt: Attempt = async () => ({ kind: 'failed', cause: 'refused', ms: 0 });
  const carillon = await testService({ after }, { options: { retryWaits: '1h,1h' }, ports: { attempt } });
  const owner = await carillon.account('acme.test');
  const admin = await carillon.user(owner, 'admin');
  const member = await carillon.user(owner, 'member');
  const other = await carillon.user(owner, 'member');
  const stranger = await carillon.account('other.test');
  const everybody = { owner, admin, member, other, stranger };

  /** A hook of everybody for every kind. */
  const hooks = new Map<string, { who: string; kind: Kind }>();
  before(async () => {
    for (const [who, person] of Object.entries(everybody)) {
      for (const kind of kinds) {
        const target_url = `http://127.0.0.1:9/${who}/${kind}`;
        const { id } = await person.carillon.hooks.create({ target_url, event: kind });
        hooks.set(id, { who, kind });
      }
    }
  });

  /** Everything that has become pending for anybody while `happen` ran, as "who kind". */
  async function toldOf<T>(happen: () => Promise<T>): Promise<{ told: string[]; result: T }> {
    const pending = () =>
      carillon.store.read.selectFrom('pending_deliveries').selectAll().orderBy('delivery_id').execute();
    const known = new Set((await pending()).map((row) => row.delivery_id));
    const result = await happen();
    const fresh = (await pending()).filter((row) => !known.has(row.delivery_id));
    const told = fresh.map((row) => {
      const hook = hooks.get(String(row.hook_id));
      assert.equal(row.kind, hook?.kind, 'a hook is told of its own kind');
      return `${hook?.who} ${hook?.kind}`;
    });
    return { told: told.sort(), result };
  }

  const event = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };

  /** One of everything, made by somebody. */
  async function oneOfEach(who: Person, fields: { user_id?: string } = {}) {
    const { carillon: as } = who;
    await as.clients.create({ client_name: 'ACME', ...fields });
    await as.events.create({ ...event, ...fields });
    const project = await as.projects.create({ project_name: 'Bells', ...fields });
    const task = await as.tasks.create(project.project_id, { task_name: 'Cast', ...fields });
    const subtask = await as.subtasks.create(task.task_id, { subtask_name: 'Melt', ...fields });
    return { task, subtask };
  }

  for (const who of ['owner', 'admin', 'member'] as const) {
    test(`C14 what the ${who} creates and completes is told to the ${who}’s hooks of that kind, and to nobody else’s`, async () => {
      const { told } = await toldOf(async () => {
        const { task, subtask } = await oneOfEach(everybody[who]);
        await everybody[who].carillon.subtasks.complete(subtask.subtask_id);
        await everybody[who].carillon.tasks.complete(task.task_id);
      });
      assert.deepEqual(told, kinds.map((kind) => `${who} ${kind}`).sort());
    });
  }

  test('C14 what an admin creates in a member’s name is told to the member alone', async () => {
    for (const by of [admin, owner]) {
      const { told, result } = await toldOf(() => oneOfEach(by, { user_id: member.userId }));
      assert.equal(result.task.user_id, member.userId);
      const creations = kinds.filter((kind) => kind.startsWith('new_'));
      assert.deepEqual(told, creations.map((kind) => `member ${kind}`).sort());
    }
  });

  test('C14 a completion is told to whoever completed it, not to whoever created it', async () => {
    const { task, subtask } = await oneOfEach(member);
    const first = await toldOf(() => other.carillon.subtasks.complete(subtask.subtask_id));
    assert.deepEqual(first.told, ['other completed_subtask']);
    const second = await toldOf(() => admin.carillon.tasks.complete(task.task_id));
    assert.deepEqual(second.told, ['admin completed_task']);
  });

  test('C14 C33 the open subtasks that a task completes are told to whoever completed the task', async () => {
    const { task } = await oneOfEach(member);
    await other.carillon.subtasks.create(task.task_id, { subtask_name: 'Pour' });
    const { told } = await toldOf(() => owner.carillon.tasks.complete(task.task_id));
    assert.deepEqual(told, ['owner completed_subtask', 'owner completed_subtask', 'owner completed_task']);
  });

  test('C14 a member who names another user is refused with 401, before anybody looks whether there is such a user', async () => {
    const bodies = [member, admin, stranger].map(({ userId }) => userId).concat('999999');
    const { told } = await toldOf(async () => {
      const texts = new Set<string>();
      for (const user_id of bodies) {
        const answer = await carillon.call(other, 'POST', '/v2/events', { ...event, user_id });
        assert.equal(answer.status, 401);
        texts.add(answer.text);
      }
      assert.equal(texts.size, 1);
    });
    assert.deepEqual(told, []);
    const own = await toldOf(() => other.carillon.events.create({ ...event, user_id: other.userId }));
    assert.deepEqual(own.told, ['other new_event'], 'to name oneself is nothing special');
  });

  test('C14 an admin who names a user that the account does not have gets 404, and nobody is told', async () => {
    const { told } = await toldOf(async () => {
      for (const user_id of [stranger.userId, '999999']) {
        assert.equal((await carillon.call(admin, 'POST', '/v2/events', { ...event, user_id })).status, 404);
      }
    });
    assert.deepEqual(told, []);
  });

  test('C14 giving a record to another user later, as admins may, tells nobody', async () => {
    const created = await member.carillon.events.create(event);
    const { told } = await toldOf(() => admin.carillon.events.update(created.event_id, { user_id: other.userId }));
    assert.deepEqual(told, []);
    const answer = await carillon.call(member, 'PUT', `/v2/events/${created.event_id}`, { user_id: member.userId });
    assert.equal(answer.status, 401);
  });

  test('C14 changes and deletions are told to no hook', async () => {
    const { told } = await toldOf(async () => {
      const created = await stranger.carillon.events.create(event);
      await stranger.carillon.events.update(created.event_id, { event_name: 'Later' });
      await stranger.carillon.events.delete(created.event_id);
    });
    assert.deepEqual(told, ['stranger new_event']);
  });

  test('C14 two hooks of one user for one kind are both told; a hook made later is not told of what was before', async () => {
    const newcomer = await carillon.user(owner, 'member');
    const make = async (path: string) => {
      const target_url = `http://127.0.0.1:9/newcomer/${path}`;
      const { id } = await newcomer.carillon.hooks.create({ target_url, event: 'new_event' });
      hooks.set(id, { who: path, kind: 'new_event' });
    };
    const early = await toldOf(() => newcomer.carillon.events.create(event));
    assert.deepEqual(early.told, []);
    await make('first');
    await make('second');
    const both = await toldOf(() => newcomer.carillon.events.create(event));
    assert.deepEqual(both.told, ['first new_event', 'second new_event']);
    const nothingMore = await toldOf(() => make('third'));
    assert.deepEqual(nothingMore.told, []);
  });
}
