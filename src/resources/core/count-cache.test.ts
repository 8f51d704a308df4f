import assert from 'node:assert/strict';
import { after } from 'node:test';
import { sql } from 'kysely';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import type { ApiUser } from '../../../test/kit/service/service.ts';
import { sharedStores, stores } from '../../../test/kit/service/stores.ts';
import { resourceTables, type StandardResourceType } from './resource-tables.ts';

for (const { name, test, testService } of stores) {
  const carillon = await testService({ after });
  const resourceTypes = Object.keys(resourceTables) as StandardResourceType[];

  /**
   * Asserts that total_records of each list is the number of rows in its table; returns these numbers by resource type.
   */
  async function assertTotals(account: Account, what: string) {
    const reportedTotals: Record<string, number> = {};
    const actualTotals: Record<string, number> = {};
    for (const resourceType of resourceTypes) {
      const { json } = await carillon.call(account, 'GET', `/v2/${resourceTables[resourceType]}?limit=1`);
      reportedTotals[resourceType] = json.paging.total_records;
      const { rows } = await sql<{
        total: number;
      }>`select count(*) as total from ${sql.table(resourceTables[resourceType])}
        where account_id = ${account.accountId}`.execute(carillon.store.read);
      actualTotals[resourceType] = rows[0]?.total ?? Number.NaN;
    }
    assert.deepEqual(reportedTotals, actualTotals, what);
    return actualTotals;
  }

  type Account = ApiUser & { readonly accountId: number };

  async function account(domain: string): Promise<Account> {
    const person = await carillon.createAccount(domain);
    const { account_id } = await carillon.store.read
      .selectFrom('accounts')
      .select('account_id')
      .where('domain', '=', domain)
      .executeTakeFirstOrThrow();
    return { ...person, accountId: account_id };
  }

  const event = (event_name: string) => ({ event_name, start_date: '20270101', due_date: '20270102' });

  test('C7 total_records of an unfiltered list is exact after creations, deletions and cascades', async () => {
    const acme = await account('acme.test');
    const { clients, events, projects, tasks, subtasks } = acme.carillon;
    await assertTotals(acme, 'nothing yet');
    const { project_id } = await projects.create({ project_name: 'One' });
    await projects.create({ project_name: 'Two' });
    const made = await Promise.all(['a', 'b', 'c'].map((task_name) => tasks.create(project_id, { task_name })));
    for (const { task_id } of made) await subtasks.create(task_id, { subtask_name: 'Of it' });
    const one = await events.create({ ...event('In the project'), project_id });
    const { client_id } = await clients.create({ client_name: 'Client' });
    await assertTotals(acme, 'some of each');
    await clients.update(client_id, { client_name: 'Changed' });
    await events.delete(one.event_id);
    await assert.rejects(events.delete(one.event_id), { code: 'not_found' });
    await assert.rejects(clients.create({ client_name: '' }), { code: 'invalid_input' });
    await assertTotals(acme, 'one is gone');
    await tasks.delete(made[0]?.task_id ?? '');
    await assertTotals(acme, 'a task with its subtask');
    await projects.delete(project_id);
    const left = await assertTotals(acme, 'a project with all that belongs to it');
    const none = Object.fromEntries(resourceTypes.map((resourceType) => [resourceType, 0]));
    assert.deepEqual(left, { ...none, client: 1, project: 1 });
    const other = await account('other.test');
    await other.carillon.clients.create({ client_name: 'Theirs' });
    assert.equal((await assertTotals(other, 'another account')).client, 1);
    await assertTotals(acme, 'and its own are as before');
  });

  test('C7 total_records is exact after more occurrences than are scanned, and after occurrences were deleted', async () => {
    const busy = await account('busy.test');
    const { events } = busy.carillon;
    await assertTotals(busy, 'nothing yet');
    await Promise.all(Array.from({ length: 150 }, (_, turn) => events.create(event(`${turn}`))));
    assert.equal((await assertTotals(busy, 'more than is looked at')).event, 150);
    const { data } = await events.list({ limit: 30 });
    await Promise.all(data.map(({ event_id }) => events.delete(event_id)));
    await events.create(event('Last'));
    // Delete all occurrences, as retention does.
    await carillon.store.write(({ queries }) =>
      queries.deleteFrom('occurrences').where('account_id', '=', busy.accountId).execute(),
    );
    assert.equal((await assertTotals(busy, 'nobody knows what occurred')).event, 121);
    await events.create(event('One more'));
    assert.equal((await assertTotals(busy, 'and from there on')).event, 122);
  });

  if (sharedStores.some((store) => store.name === name)) {
    test('C7 total_records is exact on both of two nodes, whichever writes', async (t) => {
      const acme = await account('nodes.test');
      const { baseUrl } = await testService(t, { database: carillon.database });
      const there = new Carillon({ baseUrl, auth: apiKey({ domain: acme.domain, key: acme.key }) });
      for (let turn = 0; turn < 5; turn += 1) {
        const { client_id } = await acme.carillon.clients.create({ client_name: 'Here' });
        await there.clients.create({ client_name: 'There' });
        if (turn % 2 === 0) await there.clients.delete(client_id);
        const { client } = await assertTotals(acme, `${turn}`);
        assert.equal((await there.clients.list({ limit: 1 })).paging.total_records, client);
      }
    });
  }
}
