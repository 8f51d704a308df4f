import assert from 'node:assert/strict';
import { after } from 'node:test';
import { sql } from 'kysely';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import type { Person } from '../../../test/kit/service/service.ts';
import { shared, stores } from '../../../test/kit/service/stores.ts';
import { type ResourceName, tables } from './resource-tables.ts';

for (const { name, test, testService } of stores) {
  const carillon = await testService({ after });
  const resourceTypes = Object.keys(tables) as ResourceName[];

  /**
   * Asserts that total_records of each list is the number of rows in its table; returns these numbers by resource type.
   */
  async function compare(account: Account, what: string) {
    const said: Record<string, number> = {};
    const found: Record<string, number> = {};
    for (const resourceType of resourceTypes) {
      const { json } = await carillon.call(account, 'GET', `/v2/${tables[resourceType]}?limit=1`);
      said[resourceType] = json.paging.total_records;
      const { rows } = await sql<{ total: number }>`select count(*) as total from ${sql.table(tables[resourceType])}
        where account_id = ${account.accountId}`.execute(carillon.store.read);
      found[resourceType] = rows[0]?.total ?? Number.NaN;
    }
    assert.deepEqual(said, found, what);
    return found;
  }

  type Account = Person & { readonly accountId: number };

  async function account(domain: string): Promise<Account> {
    const person = await carillon.account(domain);
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
    await compare(acme, 'nothing yet');
    const { project_id } = await projects.create({ project_name: 'One' });
    await projects.create({ project_name: 'Two' });
    const made = await Promise.all(['a', 'b', 'c'].map((task_name) => tasks.create(project_id, { task_name })));
    for (const { task_id } of made) await subtasks.create(task_id, { subtask_name: 'Of it' });
    const one = await events.create({ ...event('In the project'), project_id });
    const { client_id } = await clients.create({ client_name: 'Client' });
    await compare(acme, 'some of each');
    await clients.update(client_id, { client_name: 'Changed' });
    await events.delete(one.event_id);
    await assert.rejects(events.delete(one.event_id), { code: 'not_found' });
    await assert.rejects(clients.create({ client_name: '' }), { code: 'invalid_input' });
    await compare(acme, 'one is gone');
    await tasks.delete(made[0]?.task_id ?? '');
    await compare(acme, 'a task with its subtask');
    await projects.delete(project_id);
    const left = await compare(acme, 'a project with all that belongs to it');
    const none = Object.fromEntries(resourceTypes.map((resourceType) => [resourceType, 0]));
    assert.deepEqual(left, { ...none, client: 1, project: 1 });
    const other = await account('other.test');
    await other.carillon.clients.create({ client_name: 'Theirs' });
    assert.equal((await compare(other, 'another account')).client, 1);
    await compare(acme, 'and its own are as before');
  });

  test('C7 total_records is exact after more occurrences than are scanned, and after occurrences were deleted', async () => {
    const busy = await account('busy.test');
    const { events } = busy.carillon;
    await compare(busy, 'nothing yet');
    await Promise.all(Array.from({ length: 150 }, (_, turn) => events.create(event(`${turn}`))));
    assert.equal((await compare(busy, 'more than is looked at')).event, 150);
    const { data } = await events.list({ limit: 30 });
    await Promise.all(data.map(({ event_id }) => events.delete(event_id)));
    await events.create(event('Last'));
    // Delete all occurrences, as retention does.
    await carillon.store.write(({ queries }) =>
      queries.deleteFrom('occurrences').where('account_id', '=', busy.accountId).execute(),
    );
    assert.equal((await compare(busy, 'nobody knows what occurred')).event, 121);
    await events.create(event('One more'));
    assert.equal((await compare(busy, 'and from there on')).event, 122);
  });

  if (shared.some((store) => store.name === name)) {
    test('C7 total_records is exact on both of two nodes, whichever writes', async (t) => {
      const acme = await account('nodes.test');
      const { baseUrl } = await testService(t, { database: carillon.database });
      const there = new Carillon({ baseUrl, auth: apiKey({ domain: acme.domain, key: acme.key }) });
      for (let turn = 0; turn < 5; turn += 1) {
        const { client_id } = await acme.carillon.clients.create({ client_name: 'Here' });
        await there.clients.create({ client_name: 'There' });
        if (turn % 2 === 0) await there.clients.delete(client_id);
        const { client } = await compare(acme, `${turn}`);
        assert.equal((await there.clients.list({ limit: 1 })).paging.total_records, client);
      }
    });
  }
}
