import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test as plainTest } from 'node:test';
import { recordOccurrences } from '../../../test/kit/service/occurrences.ts';
import type { Json } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { SMALLEST_UNIT_SQL } from './overlapping.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const stranger = await carillon.createAccount('other.test');
  const project = await owner.carillon.projects.create({ project_name: 'Bells' });

  const plain = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
  const NEVER = '0000-00-00 00:00:00';
  const TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;

  const post = (body: unknown) => carillon.call(owner, 'POST', '/v2/events', body);
  const put = (id: string, body: unknown) => carillon.call(owner, 'PUT', `/v2/events/${id}`, body);
  const get = async (id: string): Promise<Json> => (await carillon.call(owner, 'GET', `/v2/events/${id}`)).json.data;

  /** Returns the fields that a response reports as invalid. */
  const invalidFields = (json: Json): string[] => json.errors.map((error: { field: string }) => error.field);

  test('C24 an event has exactly the fields of the specification, every value a string', async () => {
    const { status, json } = await post({ ...plain, project_id: project.project_id });
    assert.equal(status, 201);
    const { event_id, date_created, ...rest } = json.data;
    assert.deepEqual(rest, {
      event_name: 'Launch',
      start_date: '2027-01-01 00:00:00',
      due_date: '2027-01-02 00:00:00',
      project_id: project.project_id,
      date_modified: NEVER,
      user_id: owner.userId,
    });
    assert.match(event_id, /^[1-9]\d*$/);
    assert.match(date_created, TIME);
    assert.ok(
      Math.abs(Date.parse(`${date_created.replace(' ', 'T')}Z`) - Date.now()) < 60_000,
      'date_created is UTC now',
    );
    assert.deepEqual(await get(event_id), json.data);
    const listed = await carillon.call(owner, 'GET', `/v2/events?project_id=${project.project_id}`);
    assert.deepEqual(listed.json.data, [json.data]);
  });

  test('C26 one error names every missing required field', async () => {
    const { status, json } = await post({});
    assert.equal(status, 400);
    assert.equal(json.code, 'invalid_input');
    assert.deepEqual(invalidFields(json).sort(), ['due_date', 'event_name', 'start_date']);
  });

  for (const field of ['event_name', 'start_date', 'due_date']) {
    test(`C26 ${field} is rejected if it is missing, null, empty or blank`, async () => {
      for (const value of [undefined, null, '', '   ']) {
        const { status, json } = await post({ ...plain, [field]: value });
        assert.equal(status, 400, `${field}: ${JSON.stringify(value)}`);
        assert.deepEqual(invalidFields(json), [field]);
      }
    });
  }

  test('C26 an event_name has 1 to 255 characters after trimming, counted as characters', async () => {
    for (const name of ['x', 'x'.repeat(255), '🔔'.repeat(255), `  ${'x'.repeat(255)}\n`]) {
      const { status, json } = await post({ ...plain, event_name: name });
      assert.equal(status, 201);
      assert.equal(json.data.event_name, name.trim());
    }
    for (const name of ['x'.repeat(256), '🔔'.repeat(256)]) {
      const { status, json } = await post({ ...plain, event_name: name });
      assert.equal(status, 400);
      assert.deepEqual(invalidFields(json), ['event_name']);
    }
  });

  test('C26 an event that is due before it starts is rejected: an earlier day, or an earlier time if given', async () => {
    const spans: [start: string, due: string, status: number][] = [
      ['20270102', '20270101', 400],
      ['20270101', '20261231', 400],
      ['2027-01-02 08:00:00', '2027-01-01 09:00:00', 400],
      ['2027-01-01 10:00:00', '2027-01-01 09:59:59', 400],
      ['2027-01-01 10:00:00', '2027-01-01 10:00:00', 201],
      ['2027-01-01 10:00:00', '2027-01-01 10:00:01', 201],
      ['20270101', '20270101', 201],
      // 00:00:00 means the whole day, not a time: an event may be due on the day on which it starts.
      ['2027-01-01 10:00:00', '20270101', 201],
      ['2027-01-01 10:00:00', '2027-01-01 00:00:00', 201],
      ['2027-01-02 10:00:00', '20270101', 400],
      ['20270101', '2027-01-01 09:00:00', 201],
    ];
    for (const [start_date, due_date, wanted] of spans) {
      const { status, json } = await post({ ...plain, start_date, due_date });
      assert.equal(status, wanted, `${start_date} to ${due_date}`);
      if (wanted === 400) assert.deepEqual(invalidFields(json), ['due_date']);
    }
  });

  test('C26 C27 "0", 0, "", null and a missing project_id mean no project', async () => {
    for (const project_id of ['0', 0, '', null, undefined]) {
      const created = await post({ ...plain, project_id });
      assert.equal(created.status, 201, JSON.stringify(project_id));
      assert.equal(created.json.data.project_id, '0');
    }
    for (const project_id of ['0', 0, '', null]) {
      const { json } = await post({ ...plain, project_id: project.project_id });
      const cleared = await put(json.data.event_id, { project_id });
      assert.equal(cleared.status, 200, JSON.stringify(project_id));
      assert.equal(cleared.json.data.project_id, '0');
      assert.equal((await get(json.data.event_id)).project_id, '0');
    }
  });

  test('C26 C27 an unknown project_id or user_id is 404, and nothing is written', async () => {
    const theirs = await stranger.carillon.projects.create({ project_name: 'Theirs' });
    const event = await owner.carillon.events.create(plain);
    const { recorded } = await recordOccurrences(carillon, owner, async () => {
      for (const wrong of [
        { project_id: '999999' },
        { project_id: 999999 },
        { project_id: theirs.project_id },
        { user_id: '999999' },
        { user_id: stranger.userId },
      ]) {
        const created = await post({ ...plain, ...wrong });
        const changed = await put(event.event_id, { event_name: 'Changed', ...wrong });
        assert.deepEqual([created.status, created.json.code], [404, 'not_found'], JSON.stringify(wrong));
        assert.deepEqual([changed.status, changed.json.code], [404, 'not_found'], JSON.stringify(wrong));
      }
    });
    assert.deepEqual(recorded, []);
    assert.deepEqual(await get(event.event_id), event);
  });

  test('C27 a change affects only the given fields, and sets date_modified', async () => {
    const { json } = await post({ ...plain, project_id: project.project_id });
    const before = json.data;
    const changes: [body: Record<string, unknown>, shown: Record<string, string>][] = [
      [{ event_name: ' Renamed ' }, { event_name: 'Renamed' }],
      [{ start_date: '20261231' }, { start_date: '2026-12-31 00:00:00' }],
      [{ due_date: '2027-02-01 18:30:00' }, { due_date: '2027-02-01 18:30:00' }],
      [{ project_id: '0' }, { project_id: '0' }],
      [{}, {}],
    ];
    let wanted = before;
    for (const [body, shown] of changes) {
      const { result, recorded } = await recordOccurrences(carillon, owner, () => put(before.event_id, body));
      assert.equal(result.status, 200);
      const { date_modified, ...rest } = result.json.data;
      assert.match(date_modified, TIME);
      assert.notEqual(date_modified, NEVER);
      wanted = { ...wanted, ...shown, date_modified };
      assert.deepEqual({ ...rest, date_modified }, wanted);
      assert.deepEqual(await get(before.event_id), wanted);
      assert.deepEqual(recorded, [{ kind: 'changed_event', record_id: before.event_id, user_id: owner.userId }]);
    }
  });

  test('C27 a change is validated as a whole, and an invalid one writes nothing', async () => {
    const event = await owner.carillon.events.create(plain);
    const { recorded } = await recordOccurrences(carillon, owner, async () => {
      for (const [body, field] of [
        [{ start_date: '20270103' }, 'start_date'],
        [{ due_date: '20261231' }, 'due_date'],
        [{ start_date: '20270105', due_date: '20270104' }, 'due_date'],
        [{ event_name: 'Renamed', start_date: '20270103' }, 'start_date'],
        [{ event_name: '' }, 'event_name'],
        [{ event_name: null }, 'event_name'],
        [{ start_date: '' }, 'start_date'],
        [{ due_date: null }, 'due_date'],
        [{ start_date: '20260230' }, 'start_date'],
      ] as const) {
        const { status, json } = await put(event.event_id, body);
        assert.deepEqual([status, invalidFields(json)], [400, [field]], JSON.stringify(body));
      }
    });
    assert.deepEqual(recorded, []);
    assert.deepEqual(await get(event.event_id), event);
    const moved = await put(event.event_id, { start_date: '20270601', due_date: '20270602' });
    assert.equal(moved.status, 200, 'both together are in order');
  });

  test('C27 C28 an unknown event cannot be read, changed or deleted', async () => {
    const theirs = await stranger.carillon.events.create(plain);
    const gone = await owner.carillon.events.create(plain);
    await owner.carillon.events.delete(gone.event_id);
    for (const id of ['999999', '0', theirs.event_id, gone.event_id]) {
      for (const [method, body] of [['GET'], ['PUT', { event_name: 'Mine' }], ['DELETE']] as const) {
        const { status, json } = await carillon.call(owner, method, `/v2/events/${id}`, body);
        assert.deepEqual([status, json.code], [404, 'not_found'], `${method} ${id}`);
      }
    }
    assert.deepEqual(await stranger.carillon.events.get(theirs.event_id), theirs);
  });

  test('C28 a deletion returns an empty array; a second one is 404', async () => {
    const { event_id } = await owner.carillon.events.create(plain);
    const { recorded } = await recordOccurrences(carillon, owner, async () => {
      const first = await carillon.call(owner, 'DELETE', `/v2/events/${event_id}`);
      assert.deepEqual([first.status, first.text], [200, '[]']);
      const second = await carillon.call(owner, 'DELETE', `/v2/events/${event_id}`);
      assert.deepEqual([second.status, second.json.code], [404, 'not_found']);
    });
    assert.deepEqual(recorded, [{ kind: 'deleted_event', record_id: event_id, user_id: owner.userId }]);
  });
}

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const project = await owner.carillon.projects.create({ project_name: 'Bells' });

  /**
   * All events of the account: name, start, due date, and whether the event is in the project. Their times are at both
   * ends of the filtered days.
   */
  const events: [name: string, start: string, due: string, inProject?: true][] = [
    ['before', '2027-03-09 23:59:59', '2027-03-09 23:59:59'],
    ['first', '20270310', '20270310', true],
    ['late', '2027-03-10 23:59:59', '2027-03-10 23:59:59'],
    ['long', '2027-03-10 12:00:00', '2027-03-12 23:59:59', true],
    ['last', '20270312', '20270312'],
    ['after', '20270313', '20270313', true],
  ];
  for (const [event_name, start_date, due_date, inProject] of events) {
    const project_id = inProject ? project.project_id : '0';
    await owner.carillon.events.create({ event_name, start_date, due_date, project_id });
  }

  async function named(query: string): Promise<string[]> {
    const { status, json } = await carillon.call(owner, 'GET', `/v2/events?${query}`);
    assert.equal(status, 200, `${query}: ${JSON.stringify(json)}`);
    assert.equal(json.paging.total_records, json.data.length, query);
    return json.data.map((event: { event_name: string }) => event.event_name);
  }

  const all = ['before', 'first', 'long', 'late', 'last', 'after'];

  test('C7 C25 without a filter all events are listed, by start_date and then id', async () => {
    assert.deepEqual(await named(''), all);
  });

  /** The expected result of each filter when it is used alone, in list order. */
  const resultsOfFilters: [query: string, left: string[]][] = [
    ['from=20270310', ['first', 'long', 'late', 'last', 'after']],
    ['from=20270311', ['last', 'after']],
    ['to=20270310', ['before', 'first', 'late']],
    ['to=20270312', ['before', 'first', 'long', 'late', 'last']],
    ['start_from=20270310', ['first', 'long', 'late', 'last', 'after']],
    ['start_from=20270313', ['after']],
    ['start_to=20270309', ['before']],
    ['start_to=20270310', ['before', 'first', 'long', 'late']],
    ['due_from=20270310', ['first', 'long', 'late', 'last', 'after']],
    ['due_from=20270312', ['long', 'last', 'after']],
    ['due_to=20270309', ['before']],
    ['due_to=20270312', ['before', 'first', 'long', 'late', 'last']],
  ];

  for (const [query, left] of resultsOfFilters) {
    test(`C25 ${query} is inclusive of the whole day`, async () => {
      assert.deepEqual(await named(query), left);
    });
  }

  for (const [name, alias] of [
    ['start_from', 'start_date_from'],
    ['start_to', 'start_date_to'],
    ['due_from', 'due_date_from'],
    ['due_to', 'due_date_to'],
  ]) {
    test(`C25 ${alias} is ${name}: alone, and together with the same value`, async () => {
      for (const day of ['20270309', '20270310', '20270312']) {
        const wanted = await named(`${name}=${day}`);
        assert.deepEqual(await named(`${alias}=${day}`), wanted);
        assert.deepEqual(await named(`${alias}=${day}&${name}=${day}`), wanted);
      }
    });

    test(`C25 ${alias} and ${name} with different values are rejected, naming both`, async () => {
      for (const query of [`${name}=20270310&${alias}=20270311`, `${alias}=20270310&${name}=20270311`]) {
        const { status, json } = await carillon.call(owner, 'GET', `/v2/events?${query}`);
        assert.equal(status, 400);
        assert.deepEqual(json.errors.map((error: { field: string }) => error.field).sort(), [alias, name].sort());
      }
    });
  }

  test('C25 project_id selects the events of one project, and 0 those without one', async () => {
    assert.deepEqual(await named(`project_id=${project.project_id}`), ['first', 'long', 'after']);
    assert.deepEqual(await named('project_id=0'), ['before', 'late', 'last']);
    assert.deepEqual(await named('project_id=999999'), []);
  });

  test('C25 filters are combined with AND', async () => {
    assert.deepEqual(await named('from=20270310&to=20270310'), ['first', 'late']);
    assert.deepEqual(await named('from=20270310&start_to=20270310&due_from=20270311'), ['long']);
    assert.deepEqual(await named(`due_date_from=20270310&due_date_to=20270312&project_id=${project.project_id}`), [
      'first',
      'long',
    ]);
    assert.deepEqual(await named('start_from=20270312&start_to=20270310'), []);
    // `from` is not an alias of start_from. Both filters apply, whatever their values are.
    assert.deepEqual(await named('from=20270310&start_from=20270312'), ['last', 'after']);
  });

  test('C9 C25 a filter takes a real calendar day written yyyymmdd, and nothing else', async () => {
    const filters = ['from', 'to', 'start_from', 'start_to', 'due_from', 'due_to', 'due_date_from', 'start_date_to'];
    const wrong = ['20260230', '20270229', '20271301', '20270100', '00000101', '2027-03-10', '2027-03-10%2000:00:00'];
    for (const filter of filters) {
      for (const value of [...wrong, '2027310', '', 'today', '%2020270310', '202703100', '2027031a', '%00']) {
        const { status, json } = await carillon.call(owner, 'GET', `/v2/events?${filter}=${value}`);
        assert.equal(status, 400, `${filter}=${value}`);
        assert.deepEqual(
          json.errors.map((error: { field: string }) => error.field),
          [filter],
        );
      }
    }
  });

  test('C5 C25 a malformed project_id is rejected', async () => {
    for (const value of ['', 'abc', '-1', '1.5', '01', '9007199254740992', '1e3', '%201']) {
      const { status, json } = await carillon.call(owner, 'GET', `/v2/events?project_id=${value}`);
      assert.equal(status, 400, value);
      assert.equal(json.errors[0].field, 'project_id');
    }
  });

  test('C6 C25 one error names every malformed filter', async () => {
    const { json } = await carillon.call(
      owner,
      'GET',
      '/v2/events?from=x&due_to=20260230&limit=0&offset=-1&project_id=a',
    );
    const fields = json.errors.map((error: { field: string }) => error.field);
    assert.deepEqual(fields.sort(), ['due_to', 'from', 'limit', 'offset', 'project_id']);
  });
}

plainTest('the index of reaches and the question that it answers are word for word the same', () => {
  const migration = readFileSync(new URL('../../store/migrations/0005_reach.sql', import.meta.url), 'utf8');
  const oneLine = (text: string) => text.replace(/\s+/g, ' ');
  assert.ok(oneLine(migration).includes(`( ${oneLine(SMALLEST_UNIT_SQL)} ), start_date`));
});

/** Start and due dates of events that end within one day, month, year, decade or century, or just beyond it. */
const spans: readonly (readonly [start: string, due: string])[] = [
  ['2029-12-31 00:00:00', '2029-12-31 00:00:00'],
  ['2029-12-31 09:00:00', '2029-12-31 00:00:00'],
  ['2029-12-31 23:00:00', '2030-01-01 01:00:00'],
  ['2029-12-01 00:00:00', '2029-12-31 00:00:00'],
  ['2029-11-30 00:00:00', '2029-12-01 00:00:00'],
  ['2029-01-01 00:00:00', '2029-12-31 23:59:59'],
  ['2020-01-01 00:00:00', '2029-12-31 00:00:00'],
  ['2019-12-31 00:00:00', '2020-01-01 00:00:00'],
  ['2019-06-01 00:00:00', '2031-06-01 00:00:00'],
  ['1999-12-31 00:00:00', '2101-01-01 00:00:00'],
  ['0001-01-01 00:00:00', '9999-12-31 00:00:00'],
  ['0009-12-31 00:00:00', '0010-01-01 00:00:00'],
  ['2030-01-01 00:00:00', '2030-01-02 00:00:00'],
  ['2030-01-31 10:00:00', '2030-02-01 00:00:00'],
];
const edges = [...new Set(spans.flat().map((text) => text.slice(0, 10)))];

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');
  const stranger = await carillon.createAccount('elsewhere.test');
  const project = await owner.carillon.projects.create({ project_name: 'Bells' });
  for (const [index, [start_date, due_date]] of spans.entries()) {
    const event = { event_name: `event ${index}`, start_date, due_date };
    await owner.carillon.events.create({ ...event, project_id: index % 2 === 0 ? project.project_id : '0' });
    await stranger.carillon.events.create(event);
  }
  const all = (await owner.carillon.events.list()).data;
  const given = (day: string) => day.replaceAll('-', '');

  /** Computes the expected result of the filter from all events. */
  const wanted = (startTo: string, dueFrom: string) =>
    all.filter((event) => event.start_date.slice(0, 10) <= startTo && event.due_date.slice(0, 10) >= dueFrom);

  test('C25 start_to before due_from finds exactly the events in progress over those days, in order', async () => {
    for (const startTo of edges) {
      for (const dueFrom of edges.filter((day) => day > startTo)) {
        const { data, paging } = await owner.carillon.events.list({
          start_to: given(startTo),
          due_from: given(dueFrom),
        });
        assert.deepEqual(data, wanted(startTo, dueFrom), `${startTo} ${dueFrom}`);
        assert.equal(paging.total_records, data.length);
      }
    }
  });

  test('C25 aliases, project and paging are combined with it', async () => {
    const [start_date_to, due_date_from] = ['20191231', '20200101'];
    const found = wanted('2019-12-31', '2020-01-01');
    assert.ok(found.length >= 4);
    const list = (more: object) => owner.carillon.events.list({ start_date_to, due_date_from, ...more });
    assert.deepEqual((await list({})).data, found);
    assert.deepEqual((await list({ start_to: start_date_to })).data, found);
    const ofProject = found.filter(({ project_id }) => project_id === project.project_id);
    assert.deepEqual((await list({ project_id: project.project_id })).data, ofProject);
    const page = await list({ limit: 2, offset: 1 });
    assert.deepEqual([page.data, page.paging.total_records], [found.slice(1, 3), found.length]);
    const later = found.filter(({ start_date }) => start_date >= '2019');
    assert.deepEqual((await list({ start_from: '20190101' })).data, later);
    const { status } = await carillon.call(
      owner,
      'GET',
      '/v2/events?start_to=20191231&start_date_to=20190101&due_from=20200101',
    );
    assert.equal(status, 400, 'two values of one filter');
  });

  test('C25 from with to finds the events in between, under each alias', async () => {
    for (const [from, to] of [
      ['from', 'to'],
      ['start_from', 'due_to'],
      ['start_date_from', 'due_date_to'],
    ] as const) {
      for (const first of edges) {
        for (const last of edges) {
          const { data } = await owner.carillon.events.list({ [from]: given(first), [to]: given(last) });
          const within = all.filter(
            (event) => event.start_date.slice(0, 10) >= first && event.due_date.slice(0, 10) <= last,
          );
          assert.deepEqual(data, within, `${first} ${last}`);
        }
      }
    }
  });
}
