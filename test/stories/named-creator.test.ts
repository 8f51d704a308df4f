import assert from 'node:assert/strict';
import { after } from 'node:test';
import { noting } from '../kit/recorded-occurrences.ts';
import type { Person } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';

for (const { test, testService } of stores) {
  // C14: only admins may name another creator or change user_id. Members are rejected before the user is looked
  // up, so that they cannot find out which users exist.

  const carillon = await testService({ after });
  const owner = await carillon.account('acme.test');
  const otherOwner = await carillon.account('other.test');
  const admin = await carillon.user(owner, 'admin');
  const member = await carillon.user(owner, 'member');
  const colleague = await carillon.user(owner, 'member');
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
    const create = (who: Person, user_id?: unknown) =>
      carillon.call(who, 'POST', `${at}${parent}`, user_id === undefined ? body : { ...body, user_id });
    const createdBy = async (who: Person) => (await create(who)).json.data;
    const idOf = (data: Record<string, string>) => data[`${resourceType}_id`] ?? '';
    const change = (who: Person, id: string, changes: unknown) => carillon.call(who, 'PUT', `${at}/${id}`, changes);
    const unknownUsers = ['999999', otherOwner.userId];

    test(`C14 ${resourceType}: the recorded creator is the caller, unless an admin names another user`, async () => {
      for (const user_id of [undefined, member.userId, Number(member.userId), '0', 0, '', null]) {
        const { result, noted } = await noting(carillon, owner, () => create(member, user_id));
        assert.deepEqual([result.status, result.json.data?.user_id], [201, member.userId], JSON.stringify(user_id));
        assert.deepEqual(noted, [
          { kind: `new_${resourceType}`, record_id: idOf(result.json.data), user_id: member.userId },
        ]);
      }
      for (const who of [owner, admin]) {
        const { result, noted } = await noting(carillon, owner, () => create(who, colleague.userId));
        assert.deepEqual([result.status, result.json.data?.user_id], [201, colleague.userId]);
        assert.deepEqual(noted, [
          { kind: `new_${resourceType}`, record_id: idOf(result.json.data), user_id: colleague.userId },
        ]);
      }
    });

    test(`C14 ${resourceType}: a member who names another user is rejected in the same way, whether or not that user exists`, async () => {
      const record = await createdBy(member);
      const { noted } = await noting(carillon, owner, async () => {
        const responses = [];
        for (const user_id of [colleague.userId, owner.userId, ...unknownUsers]) {
          responses.push(await create(member, user_id), await change(member, idOf(record), { user_id }));
        }
        for (const { status, json } of responses) assert.deepEqual([status, json.code], [401, 'not_permitted']);
        assert.equal(new Set(responses.map((response) => response.text)).size, 1, 'byte for byte the same');
      });
      assert.deepEqual(noted, []);
      assert.deepEqual((await carillon.call(owner, 'GET', `${at}/${idOf(record)}`)).json.data, record);
    });

    test(`C14 C26 ${resourceType}: an admin who names an unknown user gets 404`, async () => {
      const record = await createdBy(member);
      const { noted } = await noting(carillon, owner, async () => {
        for (const user_id of unknownUsers) {
          for (const { status, json } of [
            await create(admin, user_id),
            await change(admin, idOf(record), { user_id }),
          ]) {
            assert.deepEqual([status, json.code], [404, 'not_found'], user_id);
          }
        }
      });
      assert.deepEqual(noted, []);
    });

    test(`C2 C14 ${resourceType}: a member may change another user's record, but not take it over`, async () => {
      const record = await createdBy(owner);
      const taken = await change(member, idOf(record), { user_id: member.userId });
      assert.deepEqual([taken.status, taken.json.code], [401, 'not_permitted']);
      const named = { [`${resourceType}_name`]: 'Changed', user_id: owner.userId };
      const { result, noted } = await noting(carillon, owner, () => change(member, idOf(record), named));
      assert.deepEqual(
        [result.status, result.json.data.user_id],
        [200, owner.userId],
        'naming the current creator changes nothing',
      );
      assert.deepEqual(noted, [{ kind: `changed_${resourceType}`, record_id: idOf(record), user_id: member.userId }]);
      const given = await change(admin, idOf(record), { user_id: colleague.userId });
      assert.deepEqual([given.status, given.json.data.user_id], [200, colleague.userId]);
      for (const user_id of ['0', 0, '', null]) {
        const kept = await change(member, idOf(record), { user_id });
        assert.deepEqual([kept.status, kept.json.data.user_id], [200, colleague.userId], JSON.stringify(user_id));
      }
    });
  }
}
