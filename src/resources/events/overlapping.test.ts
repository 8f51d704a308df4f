import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test as plainTest } from 'node:test';
import { stores } from '../../../test/kit/service/stores.ts';
import { REACH } from './overlapping.ts';

plainTest('the index of reaches and the question that it answers are word for word the same', () => {
  const migration = readFileSync(new URL('../../store/migrations/0005_reach.sql', import.meta.url), 'utf8');
  const oneLine = (text: string) => text.replace(/\s+/g, ' ');
  assert.ok(oneLine(migration).includes(`( ${oneLine(REACH)} ), start_date`));
});

/** Spans that end within their day, month, year, decade and century, and just beyond each. */
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
  const owner = await carillon.account('acme.test');
  const stranger = await carillon.account('elsewhere.test');
  const project = await owner.carillon.projects.create({ project_name: 'Bells' });
  for (const [index, [start_date, due_date]] of spans.entries()) {
    const event = { event_name: `event ${index}`, start_date, due_date };
    await owner.carillon.events.create({ ...event, project_id: index % 2 === 0 ? project.project_id : '0' });
    await stranger.carillon.events.create(event);
  }
  const all = (await owner.carillon.events.list()).data;
  const given = (day: string) => day.replaceAll('-', '');

  /** The filter, computed from the events. */
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
