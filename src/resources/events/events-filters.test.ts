import assert from 'node:assert/strict';
import { after } from 'node:test';
import { stores } from '../../../test/kit/service/stores.ts';

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.account('acme.test');
  const project = await owner.carillon.projects.create({ project_name: 'Bells' });

  /** All events of the account: name, start, due, project, with times at both ends of the filtered days. */
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

  /** Result of each filter alone, in list order. */
  const alone: [query: string, left: string[]][] = [
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

  for (const [query, left] of alone) {
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
    // `from` is not an alias of start_from: both apply, with any values.
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
