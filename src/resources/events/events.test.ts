import assert from 'node:assert/strict';
import { after } from 'node:test';
import { noting } from '../../../test/kit/service/occurrences.ts';
import type { Json } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.account('acme.test');
  const stranger = await carillon.account('other.test');
  const project = await owner.carillon.projects.create({ project_name: 'Bells' });

  const plain = { event_name: 'Launch', start_date: '20270101', due_date: '20270102' };
  const NEVER = '0000-00-00 00:00:00';
  const TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;

  const post = (body: unknown) => carillon.call(owner, 'POST', '/v2/events', body);
  const put = (id: string, body: unknown) => carillon.call(owner, 'PUT', `/v2/events/${id}`, body);
  const get = async (id: string): Promise<Json> => (await carillon.call(owner, 'GET', `/v2/events/${id}`)).json.data;

  /** The fields that a response reports as invalid. */
  const refused = (json: Json): string[] => json.errors.map((error: { field: string }) => error.field);

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
    assert.deepEqual(refused(json).sort(), ['due_date', 'event_name', 'start_date']);
  });

  for (const field of ['event_name', 'start_date', 'due_date']) {
    test(`C26 ${field} is rejected if it is missing, null, empty or blank`, async () => {
      for (const value of [undefined, null, '', '   ']) {
        const { status, json } = await post({ ...plain, [field]: value });
        assert.equal(status, 400, `${field}: ${JSON.stringify(value)}`);
        assert.deepEqual(refused(json), [field]);
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
      assert.deepEqual(refused(json), ['event_name']);
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
      if (wanted === 400) assert.deepEqual(refused(json), ['due_date']);
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
    const { noted } = await noting(carillon, owner, async () => {
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
    assert.deepEqual(noted, []);
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
      const { result, noted } = await noting(carillon, owner, () => put(before.event_id, body));
      assert.equal(result.status, 200);
      const { date_modified, ...rest } = result.json.data;
      assert.match(date_modified, TIME);
      assert.notEqual(date_modified, NEVER);
      wanted = { ...wanted, ...shown, date_modified };
      assert.deepEqual({ ...rest, date_modified }, wanted);
      assert.deepEqual(await get(before.event_id), wanted);
      assert.deepEqual(noted, [{ kind: 'changed_event', record_id: before.event_id, user_id: owner.userId }]);
    }
  });

  test('C27 a change is validated as a whole, and an invalid one writes nothing', async () => {
    const event = await owner.carillon.events.create(plain);
    const { noted } = await noting(carillon, owner, async () => {
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
        assert.deepEqual([status, refused(json)], [400, [field]], JSON.stringify(body));
      }
    });
    assert.deepEqual(noted, []);
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
    const { noted } = await noting(carillon, owner, async () => {
      const first = await carillon.call(owner, 'DELETE', `/v2/events/${event_id}`);
      assert.deepEqual([first.status, first.text], [200, '[]']);
      const second = await carillon.call(owner, 'DELETE', `/v2/events/${event_id}`);
      assert.deepEqual([second.status, second.json.code], [404, 'not_found']);
    });
    assert.deepEqual(noted, [{ kind: 'deleted_event', record_id: event_id, user_id: owner.userId }]);
  });
}
