import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createLog } from '../../src/log.ts';
import { allRoutes } from '../../src/resources/index.ts';
import { systemRandom } from '../../src/secrets.ts';
import { furnish } from '../kit/furnished-account.ts';
import { stores } from '../kit/stores.ts';

for (const { test, testService } of stores) {
  // Every value of every parameter of every list is either accepted or a 400 that names the parameter, never a 5xx.

  /** Every value that is tried, percent-encoded. The lone surrogate is the three bytes that UTF-8 would have for it. */
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
  const notText: Value[] = [
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
   * The values that a parameter accepts, by its meaning, written by hand from the contract. All others must be
   * rejected.
   */
  const meanings = {
    limit: numbers,
    offset: [...numbers, 'zero'],
    place: [],
    id: ['zero', 'one', 'a day', 'an invalid day'],
    day: ['a day'],
    text: (Object.keys(values) as Value[]).filter((value) => !notText.includes(value)),
    order: ['latest'],
    'state of hooks': ['a word of hooks'],
    'state of deliveries': ['a word of deliveries'],
    'status of projects': ['a word of every status'],
    'status of tasks': ['a word of every status', 'a word of subtasks'],
    'status of subtasks': ['a word of every status', 'a word of subtasks'],
    // Valid cursors wait or are expired: feed tests cover them.
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
    '/notifications': { limit: 'limit', after: 'cursor', wait: 'seconds', kind: 'kind', scope: 'scope' },
  };

  const rows = allRoutes({
    guard: { check: async () => ({ failure: 'no_such_name' }) },
    random: systemRandom,
    log: createLog('silent'),
    baseUrl: () => '',
  });
  const carillon = await testService({ after });
  const owner = await carillon.account('acme.test');

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
    const person = await carillon.account('placed.test');
    await furnish(person, carillon, () => `http://127.0.0.1:9/${systemRandom.fraction()}`);
    await furnish(person, carillon, () => `http://127.0.0.1:9/${systemRandom.fraction()}`);
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
