import assert from 'node:assert/strict';
import { after, test as plainTest } from 'node:test';
import { serializePage } from '../../../src/http/routes/list-response.ts';
import type { Route } from '../../../src/http/routes/route.ts';
import { type Caller, permissions as everyPermission } from '../../../src/permissions.ts';
import { AccountView, AccountWrite, type RowToInsert } from '../../../src/store/account-scope.ts';
import type { AccountTable } from '../../../src/store/tables.ts';
import { type FillContext, isList, rowCreatorsByPath } from '../../kit/api/largest.ts';
import { apiRoutes, consoleOnlyRoutes } from '../../kit/api/routes.ts';
import { createMeasuringSqlite, ReadCounter, type StatementSize } from '../../kit/database/query-interceptor.ts';
import { insertRows } from '../../kit/service/full-accounts.ts';
import { feedPositionOf, type RecordedOccurrence, recordOccurrences } from '../../kit/service/occurrences.ts';
import type { ApiUser, Json } from '../../kit/service/service.ts';
import { stores } from '../../kit/service/stores.ts';

// No page of a list exceeds the byte limit, however large its records are, and the Link headers lead to all records.

const MAX_PAGE_BYTES = 8 * 2 ** 20;

/** Maximum number of characters read in one event-loop iteration. On SQLite, this blocks other requests for some ms. */
const MAX_CHARACTERS_PER_ITERATION = 3 * 2 ** 20;
/** Maximum number of rows read in one event-loop iteration. */
const MAX_ROWS_PER_ITERATION = 6_000;

const lists = [...apiRoutes, ...consoleOnlyRoutes].filter(isList);

plainTest('C7 there are records of maximum size for every list', () => {
  assert.deepEqual(Object.keys(rowCreatorsByPath).sort(), lists.map(({ path }) => path).sort());
});

/** Returns the id of a record in the list at `path`. */
const recordIdOf = (path: string, record: Json): string => {
  if (path === '/hours') return `${record.hook_id} ${record.hour}`;
  const own = path === '/time_entries' ? 'entry_id' : `${path.slice(1, -1)}_id`;
  return String(record[own] ?? record.id);
};

for (const { test, testService } of stores) {
  const carillon = await testService({ after });

  /** Creates an account with a list of records of maximum size. */
  async function createFilledAccount(path: string) {
    const owner = await carillon.createAccount(`${path.slice(1).replace('_', '-')}.test`);
    const { account_id } = await carillon.store.read
      .selectFrom('accounts')
      .select('account_id')
      .where('domain', '=', owner.domain)
      .executeTakeFirstOrThrow();
    const first = 1_000_000 * (1 + lists.findIndex((list) => list.path === path));
    const place = { accountId: account_id, userId: Number(owner.userId), now: Date.now(), first };
    for (const [table, rows] of rowCreatorsByPath[path]?.(place) ?? []) await insertRows(carillon.store, table, rows);
    return { owner, place };
  }

  /** Reads all pages of a list by following their Link headers. */
  async function pagesOf(who: Pick<ApiUser, 'headers'>, path: string) {
    const pages: { readonly bytes: number; readonly json: Json }[] = [];
    for (let next: string | undefined = path; next !== undefined; ) {
      const { status, text, json, headers } = await carillon.call(who, 'GET', next);
      assert.equal(status, 200, text);
      pages.push({ bytes: Buffer.byteLength(text), json });
      const [, link] = /<([^>]*)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
      next = link?.slice(carillon.baseUrl.length);
      assert.ok(pages.length <= 200, 'the pages end');
    }
    return pages;
  }

  /** Reads the first page like the service, and returns the maximum that one event-loop iteration has read. */
  async function measureFirstPage(row: Route, { accountId, userId, now }: FillContext) {
    const counter = new ReadCounter();
    const view = new AccountView(counter.installOn(carillon.store.read), accountId, now);
    const permitted = { permissions: new Set(everyPermission), expiresAt: null };
    const caller: Caller = { accountId, userId, role: 'owner', keyId: 1, sessionId: 0, ...permitted };
    if (row.mode !== 'read') throw new Error('not a read route');
    const { pendingPage } = await row.run(view, caller, { ids: {}, query: {}, body: undefined });
    if (pendingPage === undefined) throw new Error(`${row.path} is not a listing`);
    const largePages = { acquire: async () => () => undefined };
    await serializePage(pendingPage, {
      accountId,
      largePageSemaphore: largePages,
      isRequestOver: () => false,
      responseCapacity: { hasCapacity: () => true, requireCapacity: () => undefined },
    });
    return counter.maximum;
  }

  for (const row of lists) {
    const { path } = row;
    test(`C7 no page of ${path} is larger than the limit, Link leads to every record, and no event-loop iteration reads too much`, async () => {
      const { owner, place } = await createFilledAccount(path);
      const isPublic = apiRoutes.some((one) => one.path === path);
      const who = isPublic ? owner : await carillon.signIn(owner);
      const pages = await pagesOf(who, `${isPublic ? '/v2' : '/console/api'}${path}`);
      const ids = pages.flatMap(({ json }) => json.data.map((record: Json) => recordIdOf(path, record)));
      assert.equal(new Set(ids).size, ids.length, 'each record occurs once');
      let offset = 0;
      for (const [index, { bytes, json }] of pages.entries()) {
        const { data, paging } = json;
        assert.ok(bytes <= MAX_PAGE_BYTES, `${bytes} bytes in page ${index} with ${data.length} records`);
        // A page that ends early reports its number of records as the limit, so that pagination by offset also
        // continues correctly.
        const limit = index < pages.length - 1 ? data.length : 1_000;
        assert.deepEqual(paging, { offset, limit, total_records: ids.length });
        offset += data.length;
      }
      const { characters, rows } = await measureFirstPage(row, place);
      assert.ok(characters <= MAX_CHARACTERS_PER_ITERATION, `${characters} characters in one iteration`);
      assert.ok(rows <= MAX_ROWS_PER_ITERATION, `${rows} rows in one iteration`);
    });
  }
}

for (const { name, test, testService } of stores) {
  const largest: StatementSize = { rows: 0 };
  const carillon = await testService(
    { after },
    {
      deps: {
        sendAttempt: () => Promise.resolve({ kind: 'answered', status: 200, durationMs: 1 }),
        sqlite: createMeasuringSqlite(largest),
      },
    },
  );

  /** More than the maximum number of parameters of a SQLite statement. */
  const MANY_ROWS = 33_001;
  const ROWS_PER_STATEMENT = 1_000;

  /** Inserts rows directly, because that many requests would take too long. */
  async function insertMany<T extends AccountTable>(
    who: ApiUser,
    table: T,
    count: number,
    row: (number: number) => RowToInsert<T>,
  ): Promise<void> {
    const { account_id } = await carillon.store.read
      .selectFrom('users')
      .select('account_id')
      .where('user_id', '=', Number(who.userId))
      .executeTakeFirstOrThrow();
    for (let first = 0; first < count; first += ROWS_PER_STATEMENT) {
      const numbers = Array.from({ length: Math.min(ROWS_PER_STATEMENT, count - first) }, (_, index) => first + index);
      await carillon.store.write(async (tx) => {
        await new AccountWrite(tx, account_id, Date.now()).insertInto(table, numbers.map(row)).execute();
      });
    }
  }

  const subtaskOf = (taskId: number, userId: number) => (number: number) => ({
    subtask_name: `Step ${number}`,
    description: '',
    color: '',
    notes: '',
    start_date: null,
    due_date: null,
    date_completed: null,
    ongoing: 0,
    task_id: taskId,
    estimated_hours: '0',
    subtask_order: 0,
    active: 1,
    important: 0,
    completed: 0,
    progress: 0,
    recurring: '',
    date_created: 0,
    date_modified: null,
    user_id: userId,
  });

  const hookOf = (userId: number) => (number: number) => ({
    user_id: userId,
    events: 'new_event',
    target: `http://target.test/${number}`,
    date_created: 0,
    due_at: null,
    retry_delivery_id: null,
    date_ended: null,
    ended_position: null,
  });

  const countOf = (noted: readonly RecordedOccurrence[]) =>
    Object.fromEntries([...Map.groupBy(noted, ({ kind }) => kind)].map(([kind, each]) => [kind, each.length]));

  test('C33 C34 a task with very many subtasks is completed and deleted together with them', async () => {
    const owner = await carillon.createAccount('subtasks.test');
    const { project_id } = await owner.carillon.projects.create({ project_name: 'P' });
    const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'T' });
    await insertMany(owner, 'subtasks', MANY_ROWS, subtaskOf(Number(task_id), Number(owner.userId)));

    const completed = await recordOccurrences(carillon, owner, () =>
      carillon.call(owner, 'PUT', `/v2/tasks/${task_id}`, { completed: true }),
    );
    assert.equal(completed.result.status, 200, completed.result.text);
    assert.deepEqual(countOf(completed.recorded), { completed_subtask: MANY_ROWS, completed_task: 1 });

    const deleted = await recordOccurrences(carillon, owner, () =>
      carillon.call(owner, 'DELETE', `/v2/tasks/${task_id}`),
    );
    assert.deepEqual([deleted.result.status, deleted.result.text], [200, '[]']);
    assert.deepEqual(countOf(deleted.recorded), { deleted_subtask: MANY_ROWS, deleted_task: 1 });
    assert.deepEqual(await carillon.store.read.selectFrom('subtasks').select('subtask_id').limit(1).execute(), []);
  });

  test('C33 C41 completing a recurring task with very many subtasks copies all of them to the next one', async () => {
    const owner = await carillon.createAccount('recurring.test');
    const { project_id } = await owner.carillon.projects.create({ project_name: 'P' });
    const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'T', recurring: 'D' });
    await insertMany(owner, 'subtasks', MANY_ROWS, subtaskOf(Number(task_id), Number(owner.userId)));
    const { result, recorded } = await recordOccurrences(carillon, owner, () =>
      carillon.call(owner, 'PUT', `/v2/tasks/${task_id}`, { completed: true }),
    );
    assert.equal(result.status, 200, result.text);
    assert.deepEqual(countOf(recorded), {
      completed_subtask: MANY_ROWS,
      completed_task: 1,
      new_task: 1,
      new_subtask: MANY_ROWS,
    });
    const [next] = (await owner.carillon.tasks.list({ status: 'open' })).data;
    const open = await owner.carillon.subtasks.list({ task_id: next?.task_id ?? '', status: 'open', limit: 1 });
    assert.equal(open.paging.total_records, MANY_ROWS);
  });

  test('C34 a project is deleted together with very many subtasks of its tasks', async () => {
    const owner = await carillon.createAccount('project.test');
    const { project_id } = await owner.carillon.projects.create({ project_name: 'P' });
    const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'T' });
    await insertMany(owner, 'subtasks', MANY_ROWS, subtaskOf(Number(task_id), Number(owner.userId)));
    const { result, recorded } = await recordOccurrences(carillon, owner, () =>
      carillon.call(owner, 'DELETE', `/v2/projects/${project_id}`),
    );
    assert.deepEqual([result.status, result.text], [200, '[]']);
    assert.deepEqual(countOf(recorded), { deleted_subtask: MANY_ROWS, deleted_task: 1, deleted_project: 1 });
  });

  test('X1 X11 a hook of the whole account that missed very many occurrences is restored', async () => {
    const owner = await carillon.createAccount('restore.test');
    const { project_id } = await owner.carillon.projects.create({ project_name: 'P' });
    const { task_id } = await owner.carillon.tasks.create(project_id, { task_name: 'T' });
    await insertMany(owner, 'subtasks', MANY_ROWS, subtaskOf(Number(task_id), Number(owner.userId)));
    const { hooks, projects } = owner.carillon;
    // A disabled hook holds its deliveries, so that they can be counted.
    const target_url = 'http://127.0.0.1:9/restore';
    const { id } = await hooks.create({ target_url, events: ['*'], scope: 'account', enabled: 0 });
    await hooks.delete(id);
    await projects.delete(project_id);
    await hooks.restore(id);
    const { deliveries, newest } = await carillon.store.read
      .selectFrom('pending_deliveries')
      .where('hook_id', '=', Number(id))
      .select(({ fn }) => [fn.countAll<number>().as('deliveries'), fn.max('position').as('newest')])
      .executeTakeFirstOrThrow();
    assert.deepEqual([deliveries, newest], [MANY_ROWS + 2, await feedPositionOf(carillon, owner.domain)]);
  });

  // Statements of PostgreSQL run in another process and block nothing here. The service of the tests above has recorded
  // the size of each statement.
  if (name === 'SQLite')
    test('very many records are completed, copied, deleted and enqueued by statements of at most a thousand records each', () => {
      assert.ok(largest.rows > 100 && largest.rows <= 1_000, `${largest.rows} rows in one statement`);
    });

  test('C23 a user with very many hooks is deleted, and all hooks end', async () => {
    const owner = await carillon.createAccount('hooks.test');
    const member = await carillon.createUser(owner, 'member');
    await insertMany(owner, 'hooks', MANY_ROWS, hookOf(Number(member.userId)));
    const { status, text } = await carillon.call(owner, 'DELETE', `/v2/users/${member.userId}`);
    assert.deepEqual([status, text], [200, '[]']);
    const rows = await carillon.store.read
      .selectFrom('hooks')
      .select(['ended_reason', 'generation', 'ended_position'])
      .where('user_id', '=', Number(member.userId))
      .execute();
    const position = await feedPositionOf(carillon, owner.domain);
    assert.equal(rows.length, MANY_ROWS);
    assert.deepEqual(
      [...new Set(rows.map((row) => `${row.ended_reason} ${row.generation} ${row.ended_position}`))],
      // The last occurrence is the deletion of the user, which the commit records and which is pending for no hook.
      [`user_deleted 2 ${position - 1}`],
    );
  });
}
