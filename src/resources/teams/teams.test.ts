import assert from 'node:assert/strict';
import { after } from 'node:test';
import { recordOccurrences } from '../../../test/kit/service/occurrences.ts';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const member = await carillon.createUser(owner, 'member');
  const stranger = await carillon.createAccount('other.test');
  const { projects, tasks, subtasks, teams } = owner.carillon;

  test('C37 a team has these fields; users are given by id, or as they were returned', async () => {
    const { user_id, user_name } = await member.carillon.user.get();
    const { team_id, ...plain } = await teams.create({ team_name: 'Ringers' });
    assert.deepEqual(plain, { team_name: 'Ringers', color: '', users: [] });
    const full = await teams.update(team_id, { team_name: 'Bells', color: '#aabbcc', users: [user_id] });
    assert.deepEqual(full, { team_id, team_name: 'Bells', color: '#aabbcc', users: [{ user_id, user_name }] });
    assert.deepEqual(await teams.update(team_id, { users: full.users }), full);
    assert.deepEqual((await teams.list()).data, [full]);
    assert.deepEqual((await teams.update(team_id, { users: [] })).users, []);
  });

  test('C37 all users see the teams, and only admins change them', async () => {
    const { team_id } = await teams.create({ team_name: 'Closed' });
    assert.equal((await member.carillon.teams.get(team_id)).team_name, 'Closed');
    const refused = { code: 'not_permitted' };
    await assert.rejects(member.carillon.teams.create({ team_name: 'Mine' }), refused);
    await assert.rejects(member.carillon.teams.update(team_id, { color: 'red' }), refused);
    await assert.rejects(member.carillon.teams.delete(team_id), refused);
  });

  test('C37 teams are assigned to projects, tasks and subtasks, which return them next to users', async () => {
    const [{ team_id }, other] = [await teams.create({ team_name: 'A' }), await teams.create({ team_name: 'B' })];
    const both = [
      { team_id, team_name: 'A' },
      { team_id: other.team_id, team_name: 'B' },
    ];
    const project = await projects.create({ project_name: 'P', teams: [team_id, other.team_id] });
    const task = await tasks.create(project.project_id, { task_name: 'T', teams: both });
    const subtask = await subtasks.create(task.task_id, { subtask_name: 'S' });
    assert.deepEqual([project.teams, task.teams, subtask.teams], [both, both, []]);
    const changed = await subtasks.update(subtask.subtask_id, { teams: [other.team_id], users: [member.userId] });
    assert.deepEqual(changed.teams, both.slice(1));
    assert.deepEqual((await subtasks.update(subtask.subtask_id, { notes: 'As it is' })).teams, changed.teams);
    assert.deepEqual((await tasks.list({ project_id: project.project_id })).data[0]?.teams, both);
    assert.deepEqual((await tasks.update(task.task_id, { teams: [] })).teams, []);
    const { recorded } = await recordOccurrences(carillon, owner, () => teams.delete(other.team_id));
    assert.deepEqual(recorded, [{ kind: 'deleted_team', record_id: other.team_id, user_id: owner.userId }]);
    assert.deepEqual((await projects.get(project.project_id)).teams, both.slice(0, 1));
    await projects.delete(project.project_id);
    const left = await carillon.store.read.selectFrom('team_assignments').selectAll().execute();
    assert.deepEqual(left, []);
  });

  test('C3 C37 a team or user of another account cannot be referred to', async () => {
    const theirs = await stranger.carillon.teams.create({ team_name: 'Theirs' });
    const unknown = { code: 'not_found' };
    await assert.rejects(projects.create({ project_name: 'P', teams: [theirs.team_id] }), unknown);
    await assert.rejects(teams.create({ team_name: 'T', users: [stranger.userId] }), unknown);
    await assert.rejects(teams.get(theirs.team_id), unknown);
  });
}
