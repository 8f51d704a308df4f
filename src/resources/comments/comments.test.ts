import assert from 'node:assert/strict';
import { after } from 'node:test';
import { recordOccurrences } from '../../../test/kit/service/occurrences.ts';
import type { Json } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { AccountWrite } from '../../store/account-scope.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const member = await carillon.createUser(owner, 'member');
  const stranger = await carillon.createAccount('other.test');
  const { comments, projects, tasks, subtasks } = owner.carillon;

  /** Creates a project with a task and a subtask. */
  async function createPlace() {
    const { project_id } = await projects.create({ project_name: 'Project' });
    const { task_id } = await tasks.create(project_id, { task_name: 'Task' });
    const { subtask_id } = await subtasks.create(task_id, { subtask_name: 'Subtask' });
    return { project_id, task_id, subtask_id };
  }

  const naming = (field: string) => (error: { code: string; errors: readonly { field: string }[] }) => {
    assert.deepEqual([error.code, error.errors.map((one) => one.field)], ['invalid_input', [field]]);
    return true;
  };

  test('C39 a comment has these fields and belongs to a project, a task or a subtask', async () => {
    const { project_id, task_id, subtask_id } = await createPlace();
    const { comment_id, date_created, ...plain } = await comments.create(project_id, { comment: ' Said ' });
    assert.match(date_created, /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/);
    const none = { parent_id: '0', task_id: '0', subtask_id: '0', date_modified: '0000-00-00 00:00:00' };
    const noFile = { filepath: null, filename: null, note: '0' };
    assert.deepEqual(plain, { ...none, ...noFile, comment: 'Said', project_id, user_id: owner.userId });
    const onTask = await comments.create(project_id, { comment: 'T', task_id });
    assert.deepEqual([onTask.task_id, onTask.subtask_id], [task_id, '0']);
    const onSubtask = await comments.create(project_id, { comment: 'S', subtask_id });
    assert.deepEqual([onSubtask.task_id, onSubtask.subtask_id], [task_id, subtask_id]);
    assert.deepEqual(await comments.get(onSubtask.comment_id), onSubtask);
    assert.equal((await carillon.call(owner, 'PUT', `/v2/comments/${comment_id}`, { comment: 'No' })).status, 404);
  });

  test('C39 a list has each comment with its replies, which have the same project, task and subtask', async () => {
    const { project_id, task_id, subtask_id } = await createPlace();
    const first = await comments.create(project_id, { comment: 'First', task_id });
    const second = await comments.create(project_id, { comment: 'Second' });
    const third = await comments.create(project_id, { comment: 'Third', subtask_id });
    const reply = await comments.create(project_id, { comment: 'Reply', parent_id: first.comment_id });
    const more = await member.carillon.comments.create(project_id, { comment: 'More', parent_id: first.comment_id });
    assert.deepEqual([reply.parent_id, reply.task_id], [first.comment_id, task_id]);
    const all = await comments.list({ project_id });
    assert.deepEqual(all.data, [
      { ...first, reply_count: '2', replies: [reply, more] },
      { ...second, reply_count: '0', replies: [] },
      { ...third, reply_count: '0', replies: [] },
    ]);
    assert.equal(all.paging.total_records, 3);
    const ids = async (filters: object) => (await comments.list(filters)).data.map((one) => one.comment_id);
    assert.deepEqual(await ids({ task_id }), [first.comment_id, third.comment_id]);
    assert.deepEqual(await ids({ subtask_id }), [third.comment_id]);
    assert.deepEqual(await ids({ project_id, limit: 1, offset: 1 }), [second.comment_id]);
    const seen: string[] = [];
    for await (const one of comments.each({ project_id, limit: 1 })) seen.push(one.comment);
    assert.deepEqual(seen, ['First', 'Second', 'Third']);
  });

  /** Inserts replies to a comment into the database, with the texts `1`, `2`, and so on. */
  async function reply(projectId: string, commentId: string, count: number) {
    const { account_id } = await carillon.store.read
      .selectFrom('users')
      .select('account_id')
      .where('user_id', '=', Number(owner.userId))
      .executeTakeFirstOrThrow();
    const replies = Array.from({ length: count }, (_, index) => ({
      ...{ comment: `${index + 1}`, parent_id: Number(commentId), project_id: Number(projectId), task_id: 0 },
      ...{ subtask_id: 0, date_created: 1, date_modified: null, user_id: Number(owner.userId) },
    }));
    await carillon.store.write((tx) =>
      new AccountWrite(tx, account_id, Date.now()).insertInto('comments', replies).execute(),
    );
  }

  const numbers = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, index) => `${first + index}`);

  test('C39 a comment in a list has its first fifty replies and the number of all', async () => {
    const { project_id } = await createPlace();
    const say = async (comment: string) => (await comments.create(project_id, { comment })).comment_id;
    const counts = { 'fifty-one': 51, none: 0, fifty: 50, one: 1, many: 120 };
    for (const [comment, count] of Object.entries(counts)) {
      const comment_id = await say(comment);
      if (count > 0) await reply(project_id, comment_id, count);
    }
    const { data } = await comments.list({ project_id });
    assert.deepEqual(
      data.map(({ comment, reply_count, replies }) => [comment, reply_count, replies.map((one) => one.comment)]),
      Object.entries(counts).map(([comment, count]) => [comment, `${count}`, numbers(1, Math.min(count, 50))]),
    );
  });

  test('C39 the replies to a comment have a list of their own, which continues after the first fifty', async () => {
    const { project_id } = await createPlace();
    const { comment_id } = await comments.create(project_id, { comment: 'Much discussed' });
    const other = await comments.create(project_id, { comment: 'Another' });
    await reply(project_id, comment_id, 120);
    await reply(project_id, other.comment_id, 3);
    const all = [];
    for await (const one of comments.each({ parent_id: comment_id, limit: 50 })) all.push(one);
    assert.deepEqual(
      all.map(({ comment, parent_id, reply_count, replies }) => [comment, parent_id, reply_count, replies]),
      numbers(1, 120).map((comment) => [comment, comment_id, '0', []]),
    );
    const { data, paging } = await comments.list({ parent_id: comment_id, offset: 50, limit: 2 });
    assert.deepEqual([data.map(({ comment }) => comment), paging.total_records], [['51', '52'], 120]);
    assert.deepEqual((await comments.list({ parent_id: all[0]?.comment_id })).data, []);
    await assert.rejects(stranger.carillon.comments.list({ parent_id: 'x' }), naming('parent_id'));
    assert.deepEqual((await stranger.carillon.comments.list({ parent_id: comment_id })).data, []);
  });

  test('C39 a comment has at most a thousand replies; one more is rejected', async () => {
    const { project_id } = await createPlace();
    const { comment_id } = await comments.create(project_id, { comment: 'Much discussed' });
    await reply(project_id, comment_id, 999);
    const again = () => comments.create(project_id, { comment: 'One more', parent_id: comment_id });
    await again();
    await assert.rejects(again(), (error: Json) => {
      assert.deepEqual(error.errors, [
        { field: 'parent_id', message: 'must be a comment with fewer than 1000 replies' },
      ]);
      return naming('parent_id')(error);
    });
    const [thread] = (await comments.list({ project_id })).data;
    assert.equal(thread?.reply_count, '1000');
    await comments.delete(String(thread?.replies[0]?.comment_id));
    await again();
  });

  test('C39 project, task, subtask and parent of a comment must match; the error names the field', async () => {
    const [one, other] = [await createPlace(), await createPlace()];
    const first = await comments.create(one.project_id, { comment: 'First', task_id: one.task_id });
    const reply = await comments.create(one.project_id, { comment: 'Reply', parent_id: first.comment_id });
    const refused = (given: object, field: string) =>
      assert.rejects(comments.create(one.project_id, { comment: 'X', ...given }), naming(field));
    await refused({ task_id: other.task_id }, 'task_id');
    await refused({ subtask_id: other.subtask_id }, 'subtask_id');
    const { task_id } = await tasks.create(one.project_id, { task_name: 'Another' });
    await refused({ task_id, subtask_id: one.subtask_id }, 'subtask_id');
    await refused({ parent_id: reply.comment_id }, 'parent_id');
    await refused({ parent_id: first.comment_id, task_id }, 'parent_id');
    await refused({ comment: ' ' }, 'comment');
    const elsewhere = { comment: 'X', parent_id: first.comment_id };
    await assert.rejects(comments.create(other.project_id, elsewhere), naming('parent_id'));
    for (const name of ['parent_id', 'task_id', 'subtask_id'])
      await assert.rejects(comments.create(one.project_id, { comment: 'X', [name]: '987654' }), { code: 'not_found' });
  });

  test('C34 C39 comments are deleted with their project, task or subtask, and replies with their comment', async () => {
    const { project_id, task_id, subtask_id } = await createPlace();
    const kindsOf = async (act: () => Promise<unknown>) =>
      (await recordOccurrences(carillon, owner, act)).recorded.map(({ kind, record_id }) => `${kind} ${record_id}`);
    const say = async (given: object) => (await comments.create(project_id, { comment: 'C', ...given })).comment_id;
    const onProject = await say({});
    const onTask = await say({ task_id });
    const toTask = await say({ parent_id: onTask });
    const onSubtask = await say({ subtask_id });
    const toSubtask = await say({ parent_id: onSubtask });
    const reply = await say({ parent_id: onProject });
    const deleted = (...ids: string[]) => ids.map((id) => `deleted_comment ${id}`);
    assert.deepEqual(await kindsOf(() => comments.delete(onProject)), deleted(reply, onProject));
    const last = await say({});
    assert.deepEqual(await kindsOf(() => subtasks.delete(subtask_id)), [
      ...deleted(toSubtask, onSubtask),
      `deleted_subtask ${subtask_id}`,
    ]);
    const toLast = await say({ parent_id: last });
    const gone = [
      ...deleted(toTask, onTask),
      `deleted_task ${task_id}`,
      ...deleted(toLast, last),
      `deleted_project ${project_id}`,
    ];
    assert.deepEqual(await kindsOf(() => projects.delete(project_id)), gone);
    await assert.rejects(comments.get(onTask), { code: 'not_found' });
  });

  test('C39 comments move with their task or subtask', async () => {
    const [from, to] = [await createPlace(), await createPlace()];
    const onTask = await comments.create(from.project_id, { comment: 'T', task_id: from.task_id });
    const onSubtask = await comments.create(from.project_id, { comment: 'S', subtask_id: from.subtask_id });
    await subtasks.update(from.subtask_id, { task_id: to.task_id });
    const { task_id, project_id } = await comments.get(onSubtask.comment_id);
    assert.deepEqual([task_id, project_id], [to.task_id, to.project_id]);
    await tasks.update(from.task_id, { project_id: to.project_id });
    assert.equal((await comments.get(onTask.comment_id)).project_id, to.project_id);
  });

  test('C2 C3 C39 comments are read and written with the permission for projects, in their account alone', async () => {
    const { project_id } = await createPlace();
    const { comment_id } = await comments.create(project_id, { comment: 'Ours' });
    await assert.rejects(stranger.carillon.comments.get(comment_id), { code: 'not_found' });
    await assert.rejects(stranger.carillon.comments.create(project_id, { comment: 'X' }), { code: 'not_found' });
    const { key } = await owner.carillon.keys.create({ label: 'tasks', permissions: ['tasks:read', 'tasks:write'] });
    const narrow = { ...owner, headers: { ...owner.headers, key } };
    assert.equal((await carillon.call(narrow, 'GET', `/v2/comments/${comment_id}`)).status, 401);
  });
}
