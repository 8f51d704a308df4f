import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Route } from '../../../src/http/routes/route.ts';
import { createLog } from '../../../src/log.ts';
import { createApiRoutes } from '../../../src/resources/index.ts';
import { systemRandom } from '../../../src/secrets.ts';
import { createOneOfEach, type RecordIds } from '../../kit/api/furnished-account.ts';
import { startTarget } from '../../kit/network/target.ts';
import type { ApiResponse, ApiUser } from '../../kit/service/service.ts';
import { stores } from '../../kit/service/stores.ts';
import { bodies, type Meaning, meanings, type ValueName, values } from './bad-input.table.ts';

for (const { test, testService } of stores) {
  // Every value in every field of every route is either accepted or rejected with a 4xx problem that names the field,
  // never with a 5xx. Rejected requests write nothing.

  const rows = createApiRoutes({
    guard: { checkTarget: async () => ({ failure: 'no_such_name' }) },
    random: systemRandom,
    log: createLog('silent'),
    baseUrl: () => '',
  });
  const nameOf = (row: Route) => `${row.method} ${row.path}`;
  const withBody = rows.filter((row) => row.bodySchema !== undefined);
  const valueNames = Object.keys(values) as ValueName[];
  // Returns in how many fields of one body the value fits: a body has at most 20,000 values, and the shortest value
  // that counts, a nested list, has two bytes.
  const maxFieldsWith = (value: ValueName) => Math.floor(39_000 / values[value].length);

  const carillon = await testService({ after });
  let number = 0;
  const withNextNumber = (json: string) => {
    number += 1;
    return json.replaceAll('{n}', String(number));
  };

  // The ids 1 to 10 belong to another account, so they do not exist for the tested account.
  const otherOwner = await carillon.createAccount('other.test');
  // The target responds with 200, so that the hooks stay live.
  const target = await startTarget({ after });
  const fillOtherAccount = () =>
    createOneOfEach(otherOwner, carillon, () => target.urlOf(withNextNumber('/other/{n}')));
  await Promise.all(Array.from({ length: 10 }, fillOtherAccount));
  const owner = await carillon.createAccount('acme.test');
  const ids = await createOneOfEach(owner, carillon, () => target.urlOf(withNextNumber('/own/{n}')));
  // Set a late due date, so that every start date that is tried is before it.
  await owner.carillon.events.update(ids.event_id, { due_date: '20991231' });
  assert.ok(Object.values(ids).every((id) => Number(id) > 7));

  const pathOf = (row: Route) => `/v2${row.path.replace(/\{(\w+)\}/g, (_, name: keyof RecordIds) => ids[name])}`;

  function send(row: Route, body: string, who: ApiUser = owner): Promise<ApiResponse> {
    return carillon.call(who, row.method, pathOf(row), body);
  }

  /** Returns a minimal body of a route, in which `fields` have `value`, or are missing if `value` is undefined. */
  function bodyWith(row: Route, fields: readonly string[], value: ValueName | undefined): string {
    const least = Object.entries(bodies[nameOf(row)]?.requiredFields ?? {}).filter(([name]) => !fields.includes(name));
    const parts = least.map(([name, text]) => `${JSON.stringify(name)}:${JSON.stringify(text)}`);
    const json = value === undefined ? undefined : values[value].replaceAll('{user}', owner.userId);
    if (json !== undefined) parts.push(...fields.map((field) => `${JSON.stringify(field)}:${withNextNumber(json)}`));
    return withNextNumber(`{${parts.join()}}`);
  }

  /** Counts the rows of tables and reads the feed positions. Deliveries are excluded: they change in the background. */
  async function readState(): Promise<unknown> {
    const counts: Record<string, number> = {};
    const { read } = carillon.store;
    for (const table of ['users', 'api_keys', 'clients', 'projects', 'tasks', 'subtasks', 'events', 'hooks'] as const) {
      const { count } = await read
        .selectFrom(table)
        .select((select) => select.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      counts[table] = count;
    }
    const assignments = await read
      .selectFrom('assignments')
      .selectAll()
      .orderBy('account_id')
      .orderBy('resource_type')
      .orderBy('record_id')
      .orderBy('user_id')
      .execute();
    return { counts, assignments, positions: await read.selectFrom('positions').selectAll().execute() };
  }

  /** Reads the record that the route updates; undefined for a route that creates. */
  async function recordOf(row: Route): Promise<unknown> {
    return row.method === 'PUT' ? (await carillon.call(owner, 'GET', pathOf(row))).json : undefined;
  }

  /** Asserts that a request was rejected for some of these fields and no others, and returns the named fields. */
  function assertRejected(
    { status, json, text }: ApiResponse,
    fields: readonly string[],
    what: string,
  ): readonly string[] {
    assert.deepEqual([status, json?.code], [400, 'invalid_input'], `${what}: ${text.slice(0, 300)}`);
    const errors: readonly { field: string; message: string }[] = json.errors;
    const named = errors.map(({ field }) => field);
    assert.ok(named.length > 0 && new Set(named).size === named.length, `${what}: names ${named}`);
    assert.deepEqual(
      named.filter((field) => !fields.includes(field)),
      [],
      what,
    );
    for (const { message } of errors) assert.match(message, /^(must|is|has|forbidden)\b/, what);
    return named;
  }

  test('C4 C6 the table lists every field of every route, and no other', () => {
    assert.deepEqual(Object.keys(bodies).sort(), withBody.map(nameOf).sort());
    for (const row of withBody) {
      const properties = Object.keys((row.bodySchema?.properties ?? {}) as object);
      assert.deepEqual(Object.keys(bodies[nameOf(row)]?.fields ?? {}).sort(), properties.sort(), nameOf(row));
    }
  });

  for (const row of withBody) {
    const { fields, requiredFields } = bodies[nameOf(row)] ?? { fields: {}, requiredFields: {} };

    const names = Object.keys(fields);
    const meaningOf = (name: string): Meaning => meanings[fields[name] ?? 'text'];
    const takes = (name: string, value: ValueName) => meaningOf(name).accepts.includes(value);
    const isUnknown = (name: string, value: ValueName) => meaningOf(name).unknownIds?.includes(value) === true;

    test(`C4 C6 ${nameOf(row)} rejects every wrong value of every field by name, and writes nothing`, async () => {
      const [before, record] = [await readState(), await recordOf(row)];
      const requests = valueNames.map(async (value) => {
        for (const field of names.filter((name) => isUnknown(name, value))) {
          const { status, json } = await send(row, bodyWith(row, [field], value));
          assert.deepEqual([status, json?.code], [404, 'not_found'], `${field}: ${value}`);
        }
        const wrong = names.filter((name) => !takes(name, value) && !isUnknown(name, value));
        // Send as many fields in one body as fit. Fields that are only checked when all other fields are valid are sent
        // alone.
        const named: string[] = [];
        for (let batchSize = maxFieldsWith(value), at = 0; at < wrong.length; at += batchSize) {
          const some = wrong.slice(at, at + batchSize);
          named.push(...assertRejected(await send(row, bodyWith(row, some, value)), some, value));
        }
        for (const field of wrong.filter((name) => !named.includes(name)))
          assertRejected(await send(row, bodyWith(row, [field], value)), [field], `${field}: ${value}`);
      });
      await Promise.all(requests);
      for (const field of Object.keys(requiredFields))
        assertRejected(await send(row, bodyWith(row, [field], undefined)), [field], `${field}: missing`);
      assert.deepEqual(await readState(), before);
      assert.deepEqual(await recordOf(row), record);
    });

    test(`C4 ${nameOf(row)} accepts every valid value of its fields`, async () => {
      for (const value of new Set(names.flatMap((name) => meaningOf(name).accepts))) {
        const fit = names.filter((name) => takes(name, value));
        // Send all fields in one body. If they exclude each other, send each field alone.
        if ((await send(row, bodyWith(row, fit, value))).status === row.status) continue;
        for (const field of fit) {
          const { status, text } = await send(row, bodyWith(row, [field], value));
          assert.equal(status, row.status, `${field}: ${value}: ${text.slice(0, 300)}`);
        }
      }
      assert.equal(
        (await send(row, bodyWith(row, [], undefined))).status,
        row.status,
        'all optional fields are left out',
      );
    });

    test(`C4 ${nameOf(row)} rejects a body that is not an object, and writes nothing`, async () => {
      const [before, record] = [await readState(), await recordOf(row)];
      const { list, text, null: none, true: yes, seven } = values;
      for (const body of ['', '{', list, text, none, yes, seven, values['lists 10,000 deep'], '{"__proto__":{}}']) {
        const { status, json } = await send(row, body);
        assert.deepEqual([status, json?.code], [400, 'malformed_body'], body.slice(0, 40));
      }
      assert.deepEqual(await readState(), before);
      assert.deepEqual(await recordOf(row), record);
    });
  }

  test('C4 routes without a body reject invalid JSON and ignore any other body', async () => {
    const bodiless = rows.filter((row) => row.bodySchema === undefined && row.method !== 'GET');
    const before = await readState();
    for (const row of bodiless) {
      const path = `/v2${row.path.replace(/\{\w+\}/g, '9007199254740991')}`;
      const broken = await carillon.call(owner, row.method, path, '{');
      assert.deepEqual([broken.status, broken.json.code], [400, 'malformed_body'], nameOf(row));
      for (const body of [values.list, values.null, values.text, values['objects 5,000 deep'], '{"id":1}']) {
        const { status, json } = await carillon.call(owner, row.method, path, body);
        assert.deepEqual([status, json.code], [404, 'not_found'], `${nameOf(row)} ${body.slice(0, 20)}`);
      }
    }
    assert.deepEqual(await readState(), before);
  });
}

for (const { test, testService } of stores) {
  // Every value of every parameter of every list is either accepted or rejected with a 400 that names the parameter,
  // never with a 5xx.

  /** Every value that is tried, percent-encoded. The lone surrogate is encoded as the three bytes UTF-8 would have. */
  const values = {
    empty: '',
    blank: '%20',
    text: 'text',
    zero: '0',
    one: '1',
    'minus one': '-1',
    'a fraction': '1.5',
    'a huge number': '1e308',
    'not a number': 'NaN',
    'an id beyond 2^53': '9007199254740992',
    'a day': '20270601',
    'an invalid day': '20260230',
    'a time': '2027-06-01%2000:00:00',
    NUL: 'a%00b',
    'a lone surrogate': 'a%ED%A0%80b',
    'broken escapes': '%zz%',
    'a list': '[]',
    'an object': '{}',
    quotes: `'"--;%5C`,
    'too long': 'x'.repeat(256),
    'far too long': 'x'.repeat(5_000),
    'deep brackets': '%5B'.repeat(1_000),
    'a word of hooks': 'live',
    'a word of deliveries': 'pending',
    'a word of every status': 'archived',
    'a word of subtasks': 'onhold',
    latest: 'latest',
  } as const;

  type Value = keyof typeof values;

  const numbers: Value[] = ['one', 'an id beyond 2^53', 'a day', 'an invalid day'];
  const invalidTexts: Value[] = [
    'empty',
    'blank',
    'NUL',
    'a lone surrogate',
    'broken escapes',
    'too long',
    'far too long',
    'deep brackets',
  ];

  /**
   * The values that a parameter accepts, by the meaning of the parameter, written by hand from the contract. All other
   * values must be rejected.
   */
  const meanings = {
    limit: numbers,
    offset: [...numbers, 'zero'],
    place: [],
    id: ['zero', 'one', 'a day', 'an invalid day'],
    day: ['a day'],
    text: (Object.keys(values) as Value[]).filter((value) => !invalidTexts.includes(value)),
    order: ['latest'],
    'state of hooks': ['a word of hooks'],
    'state of deliveries': ['a word of deliveries'],
    'status of projects': ['a word of every status'],
    'status of tasks': ['a word of every status', 'a word of subtasks'],
    'status of subtasks': ['a word of every status', 'a word of subtasks'],
    // Other valid cursors are covered by feed tests, because a request with such a cursor waits, or the cursor is
    // expired.
    cursor: ['zero', 'one', 'a day', 'an invalid day', 'latest'],
    seconds: ['zero', ...numbers],
    flag: ['zero', 'one'],
    kind: [],
    scope: [],
  } satisfies Record<string, Value[]>;

  type Parameters = Readonly<Record<string, keyof typeof meanings>>;

  const paging: Parameters = { limit: 'limit', offset: 'offset', after: 'place' };
  const due: Parameters = { due_from: 'day', due_to: 'day' };
  const created: Parameters = { created_from: 'day', created_to: 'day' };
  const completed: Parameters = { completed_from: 'day', completed_to: 'day' };

  /** Every parameter of every list. */
  const lists: Readonly<Record<string, Parameters>> = {
    '/events': {
      ...{ ...paging, ...due, project_id: 'id', from: 'day', to: 'day', start_from: 'day', start_to: 'day' },
      ...{ start_date_from: 'day', start_date_to: 'day', due_date_from: 'day', due_date_to: 'day' },
    },
    '/contacts': { ...paging, client_id: 'id' },
    '/comments': { ...paging, project_id: 'id', task_id: 'id', subtask_id: 'id', parent_id: 'id' },
    '/teams': paging,
    '/time_entries': {
      ...{ ...paging, user_id: 'id', client_id: 'id', project_id: 'id', task_id: 'id', subtask_id: 'id' },
      ...{
        hide_billed: 'flag',
        running: 'flag',
        created_from: 'day',
        created_to: 'day',
        date_from: 'day',
        date_to: 'day',
      },
    },
    '/clients': { ...paging, client_name: 'text', order: 'order' },
    '/projects': {
      ...{ ...paging, ...due, ...created, client_id: 'id', tag: 'text', status: 'status of projects', order: 'order' },
    },
    '/tasks': {
      ...{ ...paging, ...due, ...created, ...completed, project_id: 'id', tag: 'text', status: 'status of tasks' },
      order: 'order',
    },
    '/subtasks': {
      ...paging,
      ...due,
      ...completed,
      task_id: 'id',
      user_id: 'id',
      team_id: 'id',
      status: 'status of subtasks',
    },
    '/calendars': { ...paging, user_id: 'id' },
    '/users': paging,
    '/hooks': { ...paging, state: 'state of hooks', user_id: 'id' },
    '/deliveries': { ...paging, hook_id: 'id', user_id: 'id', state: 'state of deliveries' },
    '/keys': { ...paging, user_id: 'id' },
    '/notifications': {
      ...{ limit: 'limit', after: 'cursor', wait: 'seconds', kind: 'kind', scope: 'scope' },
      project_id: 'id',
    },
  };

  const rows = createApiRoutes({
    guard: { checkTarget: async () => ({ failure: 'no_such_name' }) },
    random: systemRandom,
    log: createLog('silent'),
    baseUrl: () => '',
  });
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');

  test('C4 C6 the table lists every parameter of every list, and no other', () => {
    const known = Object.entries(lists).map(([path, parameters]) => [path, Object.keys(parameters).sort()]);
    const rest = rows.filter((row) => Object.keys(row.parameters).length > 0);
    const wanted = rest.map((row) => [row.path, Object.keys(row.parameters).sort()]);
    assert.deepEqual(Object.fromEntries(known), Object.fromEntries(wanted));
  });

  for (const [path, parameters] of Object.entries(lists)) {
    test(`C4 C6 GET ${path} rejects every wrong value of every parameter by name`, async () => {
      const requests = Object.entries(parameters).flatMap(([name, meaning]) =>
        (Object.keys(values) as Value[]).map(async (value) => {
          if (['cursor', 'seconds'].includes(meaning) && meanings[meaning].some((one) => one === value)) return;
          const response = await carillon.call(owner, 'GET', `/v2${path}?${name}=${values[value]}`);
          const what = `${name}=${value}: ${response.text.slice(0, 200)}`;
          if (meanings[meaning].some((one) => one === value)) return assert.equal(response.status, 200, what);
          assert.deepEqual([response.status, response.json?.code], [400, 'invalid_input'], what);
          const named = response.json.errors.map((error: { field: string }) => error.field);
          assert.deepEqual(named, [name], what);
        }),
      );
      await Promise.all(requests);
    });
  }

  // A client can send any cursor, with any text in it.
  test('C4 C7 a cursor that holds NUL, a lone surrogate or a value of another type is rejected by name in every order of every list', async () => {
    const person = await carillon.createAccount('placed.test');
    await createOneOfEach(person, carillon, () => `http://127.0.0.1:9/${systemRandom.fraction()}`);
    await createOneOfEach(person, carillon, () => `http://127.0.0.1:9/${systemRandom.fraction()}`);
    let texts = 0;
    for (const row of rows.filter(({ parameters }) => 'after' in parameters && 'offset' in parameters)) {
      const orders: readonly unknown[] = (row.parameters.order?.schema.enum as unknown[] | undefined) ?? [];
      for (const order of [undefined, ...orders]) {
        const list = `/v2${row.path}?limit=1${order === undefined ? '' : `&order=${order}`}`;
        const { headers } = await carillon.call(person, 'GET', list);
        const [, cursor] = /[?&]after=([\w-]+)/.exec(headers.get('link') ?? '') ?? [];
        assert.ok(cursor !== undefined, list);
        const place: readonly unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
        const at = (index: number, value: unknown) =>
          Buffer.from(JSON.stringify(place.with(index, value))).toString('base64url');
        assert.equal((await carillon.call(person, 'GET', `${list}&after=${at(0, place[0])}`)).status, 200, list);
        for (const [index, value] of place.entries()) {
          const isText = typeof value === 'string';
          if (isText && index > 0) texts += 1;
          const wrong = isText
            ? [`${value}\0`, `\ud800${value}`, 7, null, [value]]
            : [`${value}`, 1.5, 2 ** 53, null, {}];
          for (const one of wrong) {
            const { status, json, text } = await carillon.call(person, 'GET', `${list}&after=${at(index, one)}`);
            const what = `${list} ${JSON.stringify(place.with(index, one))}: ${text.slice(0, 200)}`;
            assert.deepEqual(
              [status, json?.errors?.map(({ field }: { field: string }) => field)],
              [400, ['after']],
              what,
            );
          }
        }
      }
    }
    assert.ok(texts >= 4, 'includes orders by a text');
  });
}
