import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { openStoreAt } from '../../test/kit/database/database.ts';
import { silentProgress } from '../../test/kit/service/export-import.ts';
import { fillAccount } from '../../test/kit/service/full-accounts.ts';
import {
  importFromApi,
  respond,
  runKilledApiImport,
  type ScriptedService,
  startScriptedSource,
} from '../../test/kit/service/import-from-api.ts';
import { type ApiUser, createTemporaryFolder, type Json, type TestService } from '../../test/kit/service/service.ts';
import { stores } from '../../test/kit/service/stores.ts';
import { WorkFile } from './work-file.ts';

const LISTS = ['users', 'clients', 'projects', 'tasks', 'subtasks', 'events'];
const KEY = { key: 'k', domain: 'acme.test' };

/** Fetches every list of an account, as the API returns it. */
async function listsOf(service: TestService, person: Pick<ApiUser, 'headers'>): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const resourceType of LISTS)
    answers[resourceType] = (await service.call(person, 'GET', `/v2/${resourceType}`)).text;
  return answers;
}

/** Creates records of every type with all kinds of references, some by a deleted user, and with gaps in the ids. */
async function createRecords(service: TestService): Promise<ApiUser> {
  const owner = await service.createAccount('acme.test');
  const [member, gone] = [await service.createUser(owner, 'member'), await service.createUser(owner, 'admin')];
  const { clients, projects, tasks, subtasks, events, users } = owner.carillon;
  const { client_id } = await clients.create({ client_name: 'Überstunden 予定 😀', notes: 'line\nline', active: 2 });
  const both = [owner.userId, member.userId];
  const { project_id } = await projects.create({
    project_name: 'P',
    client_id,
    users: both,
    tags: 'a,b',
    price: '12.5',
    start_date: '20270101',
  });
  const { task_id } = await tasks.create(project_id, { task_name: 'T', users: [member.userId], progress: 40 });
  await subtasks.create(task_id, { subtask_name: 'S', users: both, estimated_hours: '1.25' });
  await tasks.complete(task_id);
  await gone.carillon.projects.create({ project_name: 'of one who has left' });
  for (let day = 1; day <= 9; day += 1)
    await events.create({ event_name: `E ${day}`, start_date: `2027030${day}`, due_date: `2027030${day}`, project_id });
  await events.update(3, { event_name: 'changed', start_date: '2027-03-03 09:30:00' });
  await events.delete(2);
  await users.delete(gone.userId);
  return owner;
}

const bare = (id: number, more: object = {}) => ({
  event_id: String(id),
  event_name: `E ${id}`,
  start_date: '2027-03-01 00:00:00',
  due_date: '2027-03-02 00:00:00',
  project_id: '0',
  date_created: '2026-01-01 10:00:00',
  date_modified: '0000-00-00 00:00:00',
  user_id: '7',
  ...more,
});

const events = (count: number) => Array.from({ length: count }, (_, index) => bare(index + 1));
const OWNER = { user_id: '7', email: 'owner@acme.test', first_name: 'Account', last_name: 'Owner', role: 'owner' };
const SINGLES = { company: { company_id: '4', company_name: 'Acme' }, user: OWNER };

function linesOf(path: string): Json[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

for (const { test: testOn, database, testService } of stores) {
  testOn(
    'an account imported from another service is identical: every list, byte for byte, ids included',
    async (t) => {
      const there = await testService(t);
      const owner = await createRecords(there);
      const before = await listsOf(there, owner);
      const into = await database(t);
      const work = join(createTemporaryFolder(t), 'work');
      const moved = await importFromApi({ base: there.baseUrl, headers: owner.headers, database: into, work });
      assert.deepEqual(
        moved.comparisons.map(({ resourceType, there, here, isSame }) => [resourceType, there, here, isSame]),
        [
          ['users', 2, 2, true],
          ['clients', 1, 1, true],
          ['projects', 2, 2, true],
          ['tasks', 1, 1, true],
          ['subtasks', 1, 1, true],
          ['events', 8, 8, true],
        ],
      );
      assert.deepEqual([moved.leftOut, moved.reading, moved.unreadableTypes], [0, { readings: 2, changed: 0 }, []]);
      // A deleted user is still the creator of records but is in no list, so the import creates the user.
      assert.deepEqual(
        linesOf(`${work}.report`).map(({ resource: resourceType, made }) => [resourceType, typeof made]),
        [['users', 'string']],
      );
      assert.deepEqual(linesOf(`${work}.ids`), []);

      const here = await testService(t, { database: into });
      const person = await here.createKey({ domain: 'acme.test', userId: String(moved.ownerId) }, {});
      assert.deepEqual(
        await listsOf(here, person),
        Object.fromEntries(
          Object.entries(before).map(([resourceType, text]) => [
            resourceType,
            text.replaceAll(there.baseUrl, here.baseUrl),
          ]),
        ),
      );
      const company = async (one: TestService, who: ApiUser) => (await one.call(who, 'GET', '/v2/company')).text;
      assert.equal(await company(here, person), await company(there, owner));
      // The import sends no notifications, and the feed of the imported account is empty.
      assert.deepEqual((await here.call(person, 'GET', '/v2/notifications?scope=account')).json.data, []);
      const made = await person.carillon.events.create({
        event_name: 'x',
        start_date: '20270101',
        due_date: '20270101',
      });
      assert.equal(made.event_id, '10');
      const { data } = (await here.call(person, 'GET', '/v2/notifications')).json;
      assert.deepEqual(
        data.map(({ kind }: Json) => kind),
        ['new_event'],
      );
    },
  );

  testOn(
    'if an id is taken, all records of its type are renumbered above every old id, and references follow',
    async (t) => {
      const into = await database(t);
      const store = await openStoreAt(t, into);
      await fillAccount(store, 'other.test', { accountId: 2, first: 3, count: 2 });
      await store.close();
      const there = await testService(t);
      const owner = await createRecords(there);
      const work = join(createTemporaryFolder(t), 'work');
      const order = { base: there.baseUrl, headers: owner.headers, database: into, work };
      const moved = await importFromApi({ ...order, domain: 'moved.test' });
      const { numbering } = moved.plan;
      assert.deepEqual([numbering.company, numbering.clients], [{ kept: false, inUse: 1, invalid: 0 }, { kept: true }]);
      assert.deepEqual(
        [numbering.users, numbering.events],
        [
          { kept: false, inUse: 2, invalid: 0 },
          { kept: false, inUse: 2, invalid: 0 },
        ],
      );
      const map = linesOf(`${work}.ids`).filter(({ resource: resourceType }) => resourceType === 'events');
      assert.deepEqual(
        map.map(({ old }) => old),
        ['1', '3', '4', '5', '6', '7', '8', '9'],
      );
      assert.deepEqual(
        map.map((one) => one.new),
        ['10', '11', '12', '13', '14', '15', '16', '17'],
      );

      const here = await testService(t, { database: into });
      const person = await here.createKey({ domain: 'moved.test', userId: String(moved.ownerId) }, {});
      const { data } = await person.carillon.events.list();
      assert.deepEqual(
        data.map(({ event_name, user_id }) => [event_name, user_id]),
        [1, 3, 4, 5, 6, 7, 8, 9].map((day) => [day === 3 ? 'changed' : `E ${day}`, String(moved.ownerId)]),
      );
      const [subtask] = (await person.carillon.subtasks.list()).data;
      assert.deepEqual(
        [subtask?.task_name, subtask?.users.length, subtask?.users[0]?.user_id],
        ['T', 2, String(moved.ownerId)],
      );
      await assert.rejects(
        importFromApi({ ...order, domain: 'other.test', work: `${work}2` }),
        /The domain other\.test is taken in this database: --as-domain/,
      );
    },
  );

  testOn(
    'another implementation with events only and its own ids and formats: problems are reported field by field',
    async (t) => {
      const into = await database(t);
      const folder = createTemporaryFolder(t);
      const work = join(folder, 'work');
      const script: ScriptedService = {
        singles: {},
        lists: {
          events: [
            { ...bare(1), event_id: 1, project_id: 12, user_id: 5, start_date: 20270301, color: 'unknown' },
            {
              ...bare(2),
              due_date: '2027-03-02T17:00:00',
              date_created: '2026-01-01T11:00:00+01:00',
              date_modified: null,
            },
            bare(3, { event_name: '  trimmed ', date_created: undefined, project_id: null }),
            bare(4, { event_name: 'x'.repeat(256), start_date: '0000-00-00 00:00:00' }),
            bare(5, { due_date: '2027-02-28 00:00:00' }),
            bare(6, { date_created: 'yesterday' }),
            bare(7, { date_created: '9999-12-31T23:59:59-14:00' }),
            { event_name: 'without an id' },
            null,
          ],
        },
        errorStatuses: { projects: 401, company: 500 - 99 },
        maxPageSize: 3,
        totalOf: (_noun, length) => String(length),
      };
      const { base, requests } = await startScriptedSource(t, script);
      const order = { base, headers: KEY, database: into, work };
      await assert.rejects(
        importFromApi(order),
        /The source does not return the user of the key: set --owner-email to the owner/,
      );
      await assert.rejects(
        importFromApi({ ...order, ownerEmail: 'new@acme.test', isStrict: true }),
        /^TransferError: 6 records cannot be imported, and 5 only with changes: .* Nothing was imported\.$/,
      );
      const moved = await importFromApi({ ...order, ownerEmail: 'new@acme.test' });
      assert.deepEqual(
        moved.unreadableTypes.map(({ resourceType, state }) => `${resourceType} ${state}`),
        [
          'company refused',
          'user absent',
          'users absent',
          'clients absent',
          'projects refused',
          'tasks absent',
          'subtasks absent',
        ],
      );
      assert.deepEqual(moved.comparisons, [
        { resourceType: 'events', there: 9, isQueried: true, here: 3, leftOut: 6, placeholders: 0, isSame: true },
      ]);
      assert.ok(requests.some(({ address }) => address === '/v2/events?limit=1000&offset=6'));
      const report = linesOf(`${work}.report`);
      assert.deepEqual(
        report
          .filter(({ left_out }) => left_out)
          .map(({ id, left_out }) => [id, left_out.map(({ field }: Json) => field)]),
        [
          ['', ['event_id']],
          ['', ['event_id']],
          ['4', ['event_name', 'start_date']],
          ['5', ['due_date']],
          ['6', ['date_created']],
          ['7', ['date_created']],
        ],
      );
      assert.equal(
        report.find(({ resource: resourceType, id }) => resourceType === 'events' && id === '5').record.event_name,
        'E 5',
      );
      const changed = report.find(({ resource: resourceType, id }) => resourceType === 'events' && id === '3').changed;
      assert.deepEqual(
        changed.map(({ field, was }: Json) => [field, was]),
        [
          ['event_name', '  trimmed '],
          ['date_created', undefined],
        ],
      );

      const here = await testService(t, { database: into });
      const person = await here.createKey({ domain: 'acme.test', userId: String(moved.ownerId) }, {});
      const { data } = await person.carillon.events.list();
      assert.deepEqual(
        data.map(({ event_id, start_date, due_date, project_id, user_id }) => [
          event_id,
          start_date,
          due_date,
          project_id,
          user_id,
        ]),
        [
          ['1', '2027-03-01 00:00:00', '2027-03-02 00:00:00', '12', '5'],
          ['2', '2027-03-01 00:00:00', '2027-03-02 17:00:00', '0', '7'],
          ['3', '2027-03-01 00:00:00', '2027-03-02 00:00:00', '0', '7'],
        ],
      );
      assert.deepEqual(data.map(({ date_created }) => date_created).slice(0, 2), [
        '2026-01-01 10:00:00',
        '2026-01-01 10:00:00',
      ]);
      // Events that belong to a project that is not readable get one placeholder project.
      assert.deepEqual(
        (await person.carillon.projects.list()).data.map(({ project_name }) => project_name),
        ['Project 12'],
      );
      assert.deepEqual(
        (await person.carillon.users.list()).data.map(({ email, role }) => [email, role]),
        [['new@acme.test', 'owner']],
      );
    },
  );

  testOn(
    'a source that changes while it is read is read again: new, changed, deleted and skipped records',
    async (t) => {
      const lists = { events: events(10), users: [OWNER] };
      let page = 0;
      const { base } = await startScriptedSource(t, {
        lists,
        singles: SINGLES,
        maxPageSize: 4,
        before(url) {
          if (!url.pathname.startsWith('/v2/events')) return false;
          page += 1;
          // A deletion moves a record from the second page to the first. Then records are added, and one is changed.
          if (page === 2) lists.events.splice(0, 1);
          if (page === 3) lists.events.push(bare(11), bare(10_000));
          if (page === 4) lists.events[4] = bare(6, { event_name: 'another' });
          return false;
        },
      });
      const work = join(createTemporaryFolder(t), 'work');
      const said: string[] = [];
      const into = await database(t);
      const moved = await importFromApi({ base, headers: KEY, database: into, work, print: (line) => said.push(line) });
      assert.deepEqual(moved.reading, { readings: 3, changed: 0 });
      assert.match(said.join('\n'), /The source has changed while it was read, in \d records: it is read again\./);
      const store = await openStoreAt(t, into);
      const rows = await store.read
        .selectFrom('events')
        .select(['event_id', 'event_name'])
        .orderBy('event_id')
        .execute();
      assert.deepEqual(
        rows.map(({ event_id }) => event_id),
        [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 10_000],
      );
      assert.equal(rows[4]?.event_name, 'another');
      assert.deepEqual(moved.comparisons.at(-1), {
        resourceType: 'events',
        there: 11,
        isQueried: true,
        here: 11,
        leftOut: 0,
        placeholders: 0,
        isSame: true,
      });
    },
  );

  testOn('different counts at the end are reported, and so is a source that keeps changing', async (t) => {
    const lists = { events: events(5), users: [OWNER] };
    let total = 0;
    let isGone = false;
    const { base } = await startScriptedSource(t, {
      lists,
      singles: SINGLES,
      totalOf: (resourceType, length) => (resourceType === 'events' ? length + total : length),
      before(url, answer) {
        if (isGone) respond(answer, url.pathname === '/v2/users' ? 401 : 400, {});
        if (isGone) return true;
        if (url.searchParams.get('limit') === '1') total = 1;
        else if (url.pathname === '/v2/events') lists.events[0] = bare(1, { event_name: `E ${Math.random()}` });
        return false;
      },
    });
    const work = join(createTemporaryFolder(t), 'work');
    const order = { base, headers: KEY, database: await database(t), work };
    const moved = await importFromApi({ ...order, readings: 2 });
    assert.deepEqual(moved.reading, { readings: 2, changed: 1 });
    assert.deepEqual(moved.comparisons.at(-1), {
      resourceType: 'events',
      there: 6,
      isQueried: true,
      here: 5,
      leftOut: 0,
      placeholders: 0,
      isSame: false,
    });
    // If the source no longer responds, its last known counts are compared.
    isGone = true;
    const { comparisons } = await importFromApi(order);
    assert.deepEqual(
      comparisons.map(({ there, isQueried, here, isSame }) => [there, isQueried, here, isSame]),
      [
        [1, false, 1, true],
        [5, false, 5, true],
      ],
    );
  });

  testOn(
    'the user of --owner-email owns the account, else the user of the key if no owner can be imported',
    async (t) => {
      const member = { user_id: '9', email: 'member@acme.test', first_name: 'M', role: 'member' };
      const broken = { ...OWNER, email: 'none' };
      const lists = { users: [OWNER, member] };
      const { base } = await startScriptedSource(t, { lists, singles: { company: 'a text', user: member } });
      const into = await database(t);
      const order = { base, headers: KEY, database: into, work: join(createTemporaryFolder(t), 'work') };
      const rolesOf = async (domain: string) => {
        const store = await openStoreAt(t, into);
        const rows = await store.read
          .selectFrom('users')
          .innerJoin('accounts', 'accounts.account_id', 'users.account_id')
          .select(['email', 'role'])
          .where('domain', '=', domain)
          .where('date_deleted', 'is', null)
          .orderBy('user_id')
          .execute();
        await store.close();
        return rows.map(({ email, role }) => `${email} ${role}`);
      };
      // A member's API key does not make the member an owner.
      await importFromApi({ ...order, domain: 'a.test' });
      assert.deepEqual(await rolesOf('a.test'), ['owner@acme.test owner', 'member@acme.test member']);
      await importFromApi({ ...order, work: `${order.work}2`, domain: 'b.test', ownerEmail: 'member@acme.test' });
      assert.deepEqual(await rolesOf('b.test'), ['owner@acme.test owner', 'member@acme.test owner']);
      lists.users = [broken, member];
      await importFromApi({ ...order, work: `${order.work}3`, domain: 'c.test' });
      assert.deepEqual(await rolesOf('c.test'), ['member@acme.test owner']);
    },
  );

  testOn('after a kill at any time the next run continues, and nothing is imported twice', async (t) => {
    const { base, requests } = await startScriptedSource(t, {
      lists: { events: events(40), users: [OWNER] },
      singles: SINGLES,
      maxPageSize: 10,
    });
    const into = await database(t);
    const order = { base, headers: KEY, database: into, work: join(createTemporaryFolder(t), 'work') };
    const moments: [string, number][] = [
      ['reading events', 20],
      ['validating the records', 1],
      ['import', 42],
      ['comparing', 0],
    ];
    for (const [stage, rows] of moments) assert.equal(await runKilledApiImport(order, stage, rows), 'SIGKILL', stage);
    const offsets = requests.map(({ address }) => address).filter((address) => address.includes('events?limit=1000'));
    // The first run ended after two pages, and the second run continues after these pages.
    assert.deepEqual(
      offsets.slice(0, 4).map((address) => address.split('offset=')[1]),
      ['0', '10', '20', '30'],
    );
    await assert.rejects(
      importFromApi({ ...order, domain: 'other.test' }),
      /belongs to an import as acme\.test that has already started: --as-domain acme\.test completes it/,
    );
    const before = requests.length;
    const moved = await importFromApi({ ...order, progress: silentProgress });
    // Only the counts are read from the source again.
    assert.deepEqual(
      requests.slice(before).map(({ address }) => address),
      ['/v2/users?limit=1&offset=0', '/v2/events?limit=1&offset=0'],
    );
    assert.deepEqual(
      moved.comparisons.map(({ here, isSame }) => [here, isSame]),
      [
        [1, true],
        [40, true],
      ],
    );
    const store = await openStoreAt(t, into);
    const rows = await store.read.selectFrom('events').select('event_id').execute();
    assert.equal(new Set(rows.map(({ event_id }) => event_id)).size, 40);
    assert.equal(rows.length, 40);
  });
}

test('two imports cannot use the same work file', (t) => {
  const path = join(createTemporaryFolder(t), 'work');
  const work = new WorkFile(path);
  assert.throws(() => new WorkFile(path), /work cannot be used: .*locked\. Is another import using it\?$/);
  work.close();
  new WorkFile(path).remove();
  assert.equal(existsSync(path), false);
});

test('an existing file that is not a work file, such as a database, is unchanged', (t) => {
  const path = join(createTemporaryFolder(t), 'carillon.db');
  const other = new DatabaseSync(path);
  other.exec('create table lists (noun text)');
  other.close();
  const before = readFileSync(path);
  assert.throws(
    () => new WorkFile(path),
    /carillon\.db is not a work file of this version: --work must name another file\.$/,
  );
  assert.deepEqual(readFileSync(path), before);
  assert.throws(() => new WorkFile(createTemporaryFolder(t)), /cannot be used: unable to open database file/);
});
