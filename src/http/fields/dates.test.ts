import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Json } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';
import { formatTimestamp, isDueBeforeStart, parseCalendarTime, parseCompactDay } from './dates.ts';
import { parseId } from './field.ts';

for (const { test, testService } of stores) {
  const NEVER = '0000-00-00 00:00:00';

  /** Texts that are not existing calendar days. */
  const noDays = [
    '',
    '0',
    '20260230',
    '20270229',
    '21000229',
    '20270431',
    '20270631',
    '20270931',
    '20271131',
    '20270132',
    '20270100',
    '20270001',
    '20271301',
    '00000101',
    '00000000',
    '2027011',
    '202701011',
    ' 20270101',
    '20270101 ',
    '20270101\n',
    '+2027010',
    '2027-1-1',
    '2027/01/01',
    '01012027x',
    '２０２７０１０１',
  ];

  /** Invalid dates in the output form. */
  const noTimes = [
    '2026-02-30 00:00:00',
    '2027-01-01 24:00:00',
    '2027-01-01 23:60:00',
    '2027-01-01 23:59:60',
    '2027-01-01T12:00:00',
    '2027-01-01 12:00:00Z',
    '2027-01-01 12:00:00+01:00',
    '2027-01-01 12:00',
    '2027-01-01',
    '2027-01-01 1:00:00',
    '2027-01-01  1:00:00',
    '2027-01-01 12:00:00 ',
    NEVER,
  ];

  test('C9 yyyymmdd is accepted only if it is an existing calendar day', () => {
    assert.equal(parseCompactDay('20270101'), '2027-01-01');
    assert.equal(parseCompactDay('20280229'), '2028-02-29');
    assert.equal(parseCompactDay('20000229'), '2000-02-29');
    assert.equal(parseCompactDay('00010101'), '0001-01-01');
    assert.equal(parseCompactDay('99991231'), '9999-12-31');
    for (const text of [...noDays, ...noTimes]) assert.equal(parseCompactDay(text), undefined, JSON.stringify(text));
  });

  test('C9 a start or due date is accepted in both forms; yyyymmdd is 00:00:00 of that day', () => {
    assert.equal(parseCalendarTime('20270101'), '2027-01-01 00:00:00');
    assert.equal(parseCalendarTime('2027-01-01 00:00:00'), '2027-01-01 00:00:00');
    assert.equal(parseCalendarTime('2028-02-29 23:59:59'), '2028-02-29 23:59:59');
    for (const text of [...noDays, ...noTimes]) assert.equal(parseCalendarTime(text), undefined, JSON.stringify(text));
  });

  test('C9 a timestamp is formatted in UTC, and never as zeros', () => {
    assert.equal(formatTimestamp(null), NEVER);
    assert.equal(formatTimestamp(0), '1970-01-01 00:00:00');
    assert.equal(formatTimestamp(Date.parse('2027-03-28T01:30:59.999Z')), '2027-03-28 01:30:59');
    // The text equals that of the standard library, for more days than are cached and also before the epoch.
    for (let atMs = Date.parse('1968-01-01T00:00:00Z'); atMs < Date.parse('2030-01-01T00:00:00Z'); atMs += 47_654_321) {
      assert.equal(formatTimestamp(atMs), new Date(atMs).toISOString().slice(0, 19).replace('T', ' '));
    }
  });

  test('C26 a due date is before its start on an earlier day, or at an earlier explicit time', () => {
    const day = '2027-01-01 00:00:00';
    assert.equal(isDueBeforeStart(day, '2026-12-31 00:00:00'), true);
    assert.equal(isDueBeforeStart(day, '2026-12-31 23:59:59'), true);
    assert.equal(isDueBeforeStart('2027-01-01 10:00:00', '2027-01-01 09:59:59'), true);
    assert.equal(isDueBeforeStart('2027-01-01 10:00:00', day), false, 'all day');
    assert.equal(isDueBeforeStart(day, day), false);
    assert.equal(isDueBeforeStart(null, day), false);
    assert.equal(isDueBeforeStart(day, null), false);
  });

  let now = Date.parse('2027-10-31T00:30:00Z');
  const carillon = await testService({ after }, { deps: { clock: { ...systemClock, now: () => now } } });
  const owner = await carillon.createAccount('acme.test');
  const call = (method: string, path: string, body?: unknown) => carillon.call(owner, method, path, body);
  const fieldsOf = (json: Json): string[] => json.errors.map((error: { field: string }) => error.field);

  test('C9 start and due dates are returned as they were sent, in any time zone', async () => {
    for (const zone of ['America/New_York', 'Pacific/Kiritimati', 'UTC']) {
      await carillon.store.write(({ queries }) =>
        queries.updateTable('accounts').set({ time_zone: zone }).where('domain', '=', 'acme.test').execute(),
      );
      // 02:30 does not exist on that night in zones with daylight saving time.
      const span = { start_date: '2027-03-28 02:30:00', due_date: '20270329' };
      const { json } = await call('POST', '/v2/events', { event_name: 'Zone', ...span });
      assert.equal(json.data.start_date, '2027-03-28 02:30:00', zone);
      assert.equal(json.data.due_date, '2027-03-29 00:00:00', zone);
      assert.equal(json.data.date_created, '2027-10-31 00:30:00', zone);
    }
  });

  test('C9 date_created, date_modified and date_completed are timestamps in UTC', async () => {
    now = Date.parse('2027-06-30T23:59:59.999Z');
    const project = await owner.carillon.projects.create({ project_name: 'Bells' });
    const task = await owner.carillon.tasks.create(project.project_id, { task_name: 'Cast' });
    assert.deepEqual(
      [task.date_created, task.date_modified, task.date_completed],
      ['2027-06-30 23:59:59', NEVER, NEVER],
    );
    now = Date.parse('2027-07-01T00:00:00Z');
    const done = await owner.carillon.tasks.complete(task.task_id);
    const at = '2027-07-01 00:00:00';
    assert.deepEqual([done.date_created, done.date_modified, done.date_completed], ['2027-06-30 23:59:59', at, at]);
  });

  test('C9 an invalid date is rejected with the name of its field, required or optional', async () => {
    const spanned = { event_name: 'E', start_date: '20270101', due_date: '20990101' };
    for (const wrong of [...noDays, ...noTimes, 20270101, true, ['20270101'], { day: '20270101' }, null]) {
      const event = await call('POST', '/v2/events', { ...spanned, due_date: wrong });
      assert.equal(event.status, 400, JSON.stringify(wrong));
      assert.deepEqual(fieldsOf(event.json), ['due_date']);
      if (wrong === '' || wrong === null || wrong === NEVER) continue;
      const project = await call('POST', '/v2/projects', { project_name: 'P', start_date: wrong });
      assert.equal(project.status, 400, JSON.stringify(wrong));
      assert.deepEqual(fieldsOf(project.json), ['start_date']);
    }
  });

  test('C9 "", null and zeros clear an optional date', async () => {
    for (const none of ['', null, NEVER]) {
      const created = await call('POST', '/v2/projects', { project_name: 'P', due_date: none, start_date: '20270101' });
      assert.deepEqual([created.status, created.json.data.due_date], [201, NEVER], JSON.stringify(none));
      const path = `/v2/projects/${created.json.data.project_id}`;
      const { status, json } = await call('PUT', path, { start_date: none });
      assert.deepEqual([status, json.data.start_date], [200, NEVER]);
    }
  });
}

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const stranger = await carillon.createAccount('other.test');
  const span = { start_date: '20270101', due_date: '20270101' };

  /** Malformed ids in a path. */
  const malformed = [
    'abc',
    '-1',
    '1.0',
    '1e1',
    '01',
    '+1',
    '0x1',
    '%201',
    '1%20',
    '１',
    '9007199254740992',
    '%00',
    '1,2',
  ];
  const resourceTypes = ['events', 'clients', 'projects', 'tasks', 'subtasks', 'users', 'keys', 'hooks', 'deliveries'];

  test('C5 an id is a string of digits or a number, below 2^53', () => {
    for (const [written, id] of [
      ['0', 0],
      [0, 0],
      ['1', 1],
      [1, 1],
      ['9007199254740991', Number.MAX_SAFE_INTEGER],
      [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ] as const) {
      assert.equal(parseId(written), id);
    }
    const numbers = [-1, 1.5, 2 ** 53, 1e308, Number.NaN, Number.POSITIVE_INFINITY];
    const texts = ['', ' ', '01', '00', '-1', '1.0', '1e3', '+1', '9007199254740992', '1'.repeat(400), '١', '1\n'];
    for (const wrong of [...numbers, ...texts, null, undefined, true, [], ['1'], {}]) {
      assert.equal(parseId(wrong), undefined, JSON.stringify(wrong));
    }
  });

  for (const resourceType of resourceTypes) {
    test(`C4 C5 a malformed id in a path of ${resourceType} is 404, like one never issued`, async () => {
      const unknown = await carillon.call(owner, 'GET', `/v2/${resourceType}/9007199254740991`);
      assert.deepEqual([unknown.status, unknown.json.code], [404, 'not_found']);
      for (const id of malformed) {
        const { status, text } = await carillon.call(owner, 'GET', `/v2/${resourceType}/${id}`);
        assert.deepEqual([status, text], [404, unknown.text], id);
      }
    });
  }

  test('C4 C5 a malformed id is 404 for every method, before the body is validated', async () => {
    for (const id of malformed) {
      for (const [method, path] of [
        ['PUT', `/v2/events/${id}`],
        ['DELETE', `/v2/events/${id}`],
        ['POST', `/v2/tasks/${id}`],
        ['POST', `/v2/hooks/${id}/restore`],
        ['POST', `/v2/deliveries/${id}/redeliver`],
      ] as const) {
        const { status } = await carillon.call(
          owner,
          method,
          path,
          method === 'DELETE' ? undefined : { event_name: '' },
        );
        assert.equal(status, 404, `${method} ${path}`);
      }
    }
  });

  test('C5 ids in a body are strings or numbers, and are returned as strings', async () => {
    const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
    for (const written of [project_id, Number(project_id)]) {
      const { json } = await carillon.call(owner, 'POST', '/v2/events', {
        event_name: 'E',
        ...span,
        project_id: written,
      });
      assert.equal(json.data.project_id, project_id);
      assert.match(json.data.event_id, /^[1-9]\d*$/);
      const listed = await carillon.call(owner, 'GET', `/v2/events?project_id=${written}`);
      assert.ok(listed.json.paging.total_records > 0);
    }
  });

  test('C5 an id is never reused, even after the last record was deleted', async () => {
    const body: Record<string, unknown> = { event_name: 'E', ...span };
    const seen = new Set<number>();
    for (let round = 0; round < 5; round += 1) {
      const { json } = await carillon.call(owner, 'POST', '/v2/events', body);
      const id = Number(json.data.event_id);
      assert.ok([...seen].every((earlier) => earlier < id));
      seen.add(id);
      await carillon.call(owner, 'DELETE', `/v2/events/${id}`);
    }
  });

  test('C3 records of another account cannot be referenced in a path, a body or a filter', async () => {
    const { carillon: theirs } = stranger;
    const client = await theirs.clients.create({ client_name: 'Theirs' });
    const project = await theirs.projects.create({ project_name: 'Theirs', client_id: client.client_id });
    const task = await theirs.tasks.create(project.project_id, { task_name: 'Theirs' });
    const subtask = await theirs.subtasks.create(task.task_id, { subtask_name: 'Theirs' });
    const event = await theirs.events.create({ event_name: 'Theirs', ...span, project_id: project.project_id });
    const own = await owner.carillon.projects.create({ project_name: 'Ours' });
    const ownTask = await owner.carillon.tasks.create(own.project_id, { task_name: 'Ours' });

    const written: [method: string, path: (id: string) => string, body: (id: string) => unknown, id: string][] = [
      ['POST', () => '/v2/events', (id) => ({ event_name: 'E', ...span, project_id: id }), project.project_id],
      ['POST', () => '/v2/events', (id) => ({ event_name: 'E', ...span, user_id: id }), stranger.userId],
      ['POST', () => '/v2/projects', (id) => ({ project_name: 'P', client_id: id }), client.client_id],
      ['POST', () => '/v2/projects', (id) => ({ project_name: 'P', users: [id] }), stranger.userId],
      ['POST', (id) => `/v2/tasks/${id}`, () => ({ task_name: 'T' }), project.project_id],
      ['POST', (id) => `/v2/subtasks/${id}`, () => ({ subtask_name: 'S' }), task.task_id],
      ['PUT', () => `/v2/tasks/${ownTask.task_id}`, (id) => ({ project_id: id }), project.project_id],
      ['POST', () => '/v2/keys', (id) => ({ user_id: id }), stranger.userId],
      ['PUT', (id) => `/v2/events/${id}`, () => ({ event_name: 'Mine' }), event.event_id],
      ['PUT', (id) => `/v2/subtasks/${id}`, () => ({ completed: 1 }), subtask.subtask_id],
      ['DELETE', (id) => `/v2/projects/${id}`, () => undefined, project.project_id],
      ['DELETE', (id) => `/v2/users/${id}`, () => undefined, stranger.userId],
      ['GET', (id) => `/v2/clients/${id}`, () => undefined, client.client_id],
    ];
    for (const [method, path, body, id] of written) {
      const foreign = await carillon.call(owner, method, path(id), body(id));
      const never = await carillon.call(owner, method, path('9007199254740991'), body('9007199254740991'));
      assert.deepEqual([foreign.status, foreign.text], [404, never.text], `${method} ${path(id)}`);
    }
    for (const query of [`projects?client_id=${client.client_id}`, `tasks?project_id=${project.project_id}`]) {
      assert.equal((await carillon.call(owner, 'GET', `/v2/${query}`)).json.paging.total_records, 0, query);
    }
    const mine: Json = (await carillon.call(stranger, 'GET', `/v2/events/${event.event_id}`)).json.data;
    assert.deepEqual(mine, event);
    assert.deepEqual(await theirs.projects.get(project.project_id), project);
    assert.deepEqual(await theirs.subtasks.get(subtask.subtask_id), subtask);
  });
}
