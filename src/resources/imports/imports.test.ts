import assert from 'node:assert/strict';
import { after } from 'node:test';
import { eventually } from '../../../test/kit/eventually.ts';
import { startTarget } from '../../../test/kit/network/target.ts';
import type { ApiUser } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';

const calendar = (...lines: readonly string[]) => ['BEGIN:VCALENDAR', ...lines, 'END:VCALENDAR', ''].join('\r\n');
const event = (uid: string, day: string, name: string, ...more: readonly string[]) =>
  ['BEGIN:VEVENT', `UID:${uid}`, `DTSTART;VALUE=DATE:${day}`, `SUMMARY:${name}`, ...more, 'END:VEVENT'].join('\r\n');

for (const { test, testService } of stores) {
  const carillon = await testService({ after });

  const importFile = (who: ApiUser, ics: string, options: object = {}) =>
    who.carillon.events.import({ ics, ...options });
  const listEvents = async ({ carillon: own }: ApiUser) =>
    (await own.events.list()).data.map(({ event_name, start_date }) => `${event_name} ${start_date.slice(0, 10)}`);
  const counts = ({ created, changed, unchanged, deleted }: Awaited<ReturnType<typeof importFile>>) =>
    [created, changed, unchanged, deleted].map(Number);
  const kinds = async ({ carillon: own }: ApiUser) => (await own.notifications.list()).data.map(({ kind }) => kind);

  test('X9 a second import creates no duplicates: changed entries are updated, deleted events stay deleted', async () => {
    const owner = await carillon.createAccount('again.test');
    const first = calendar(event('a', '20270101', 'A'), event('b', '20270102', 'B'), event('c', '20270103', 'C'));
    assert.deepEqual(counts(await importFile(owner, first)), [3, 0, 0, 0]);
    assert.deepEqual(counts(await importFile(owner, first)), [0, 0, 3, 0]);
    const [a, b, c] = (await owner.carillon.events.list()).data;
    // A change made here stays while the entry in the file is unchanged.
    await owner.carillon.events.update(String(a?.event_id), { event_name: 'A here' });
    await owner.carillon.events.delete(String(c?.event_id));
    const second = calendar(
      event('a', '20270101', 'A'),
      event('b', '20270105', 'B later'),
      event('c', '20270103', 'C'),
      event('d', '20270104', 'D'),
    );
    assert.deepEqual(counts(await importFile(owner, second)), [1, 1, 1, 1]);
    assert.deepEqual(await listEvents(owner), ['A here 2027-01-01', 'D 2027-01-04', 'B later 2027-01-05']);
    assert.equal((await owner.carillon.events.get(String(b?.event_id))).event_name, 'B later');
    // Events that are missing in the file stay. Deleted events are created again only with `again`.
    assert.deepEqual(
      counts(await importFile(owner, calendar(event('c', '20270103', 'C')), { again: 1 })),
      [1, 0, 0, 0],
    );
    assert.deepEqual(counts(await importFile(owner, calendar(event('c', '20270103', 'C')))), [0, 0, 1, 0]);
    assert.equal((await listEvents(owner)).length, 4);
  });

  test('X9 an import notifies the hooks of its user; a silent import never does, not even after a hook is restored', async (t) => {
    const owner = await carillon.createAccount('rings.test');
    const target = await startTarget(t);
    const hook = await owner.carillon.hooks.create({ target_url: target.urlOf('/loud'), event: 'new_event' });
    await importFile(owner, calendar(event('a', '20270101', 'A'), event('b', '20270102', 'B')));
    await target.waitForArrivals(2);
    await owner.carillon.hooks.create({ target_url: target.urlOf('/changes'), events: ['changed_event'] });
    await owner.carillon.hooks.delete(hook.id);
    await importFile(owner, calendar(event('c', '20270101', 'C'), event('d', '20270102', 'D')), { silent: true });
    await importFile(owner, calendar(event('a', '20270109', 'A')));
    await owner.carillon.hooks.restore(hook.id);
    await owner.carillon.events.create({ event_name: 'Last', start_date: '20270103', due_date: '20270103' });
    await target.waitForArrivals(4);
    const pending = () => carillon.store.read.selectFrom('pending_deliveries').selectAll().execute();
    await eventually(pending, (rows) => rows.length === 0);
    const counted = target.received.map(({ path }) => path).sort();
    assert.deepEqual(counted, ['/changes', '/loud', '/loud', '/loud']);
    assert.deepEqual(
      (await kinds(owner)).filter((kind) => kind.endsWith('_event')),
      ['new_event', 'new_event', 'changed_event', 'changed_event', 'changed_event', 'new_event'],
    );
  });

  test('X9 a large file is imported in several transactions: others run meanwhile, and a failed one is made up for by the next import', async () => {
    const owner = await carillon.createAccount('large.test');
    const { project_id } = await owner.carillon.projects.create({ project_name: 'Bells' });
    const ics = calendar(...Array.from({ length: 650 }, (_, index) => event(`n${index}`, '20270101', `N ${index}`)));
    const importing = importFile(owner, ics, { project_id });
    assert.equal((await owner.carillon.user.get()).user_id, owner.userId);
    assert.deepEqual(counts(await importing), [650, 0, 0, 0]);
    const { paging } = await owner.carillon.events.list({ project_id, limit: 1 });
    assert.equal(paging.total_records, 650);
    // As after a crash in the middle of an import, some of the events exist.
    const other = await carillon.createAccount('half.test');
    await importFile(
      other,
      calendar(...Array.from({ length: 200 }, (_, index) => event(`n${index}`, '20270101', `N ${index}`))),
    );
    assert.deepEqual(counts(await importFile(other, ics)), [450, 0, 200, 0]);
    // Two concurrent imports have the same effect as one import.
    const twice = await carillon.createAccount('twice.test');
    const both = await Promise.all([importFile(twice, ics), importFile(twice, ics)]);
    assert.equal(
      both.reduce((sum, one) => sum + Number(one.created), 0),
      650,
    );
    assert.equal((await twice.carillon.events.list({ limit: 1 })).paging.total_records, 650);
  });

  test('X9 only the unreadable line is left out and reported with number, property and reason; times are in the zone of the account', async () => {
    const owner = await carillon.createAccount('lines.test');
    const ics = calendar(
      ...['BEGIN:VEVENT', 'UID:a', 'SUMMARY:Call', 'DTSTART;TZID=America/New_York:20270131T180000'],
      ...['DTEND;TZID=America/New_York:20270131T190000', 'EXDATE:', 'RDATE;VALUE=PERIOD:never/PT1H', 'END:VEVENT'],
    );
    const started = async () => (await owner.carillon.events.list()).data.map(({ start_date }) => start_date);
    const rows = ({ dropped }: Awaited<ReturnType<typeof importFile>>) =>
      dropped.map(({ what, reason, examples }) => [what, reason, ...examples]);
    const bad = [
      ['RDATE', 'bad_time', 'line 8: never/PT1H'],
      ['EXDATE', 'bad_time', 'line 7: empty'],
    ];
    const without = await importFile(owner, ics);
    assert.deepEqual(rows(without), [...bad, ['TZID', 'no_zone', 'line 5: America/New_York']]);
    assert.match(
      without.dropped.at(-1)?.message ?? '',
      /^The account has no time zone: times with a zone were kept as written/,
    );
    assert.deepEqual(await started(), ['2027-01-31 18:00:00']);
    // For an account without a zone, the console sends the zone of the browser.
    const inBrowser = await importFile(owner, ics, { default_time_zone: 'Asia/Tokyo' });
    assert.deepEqual([inBrowser.time_zone, await started()], ['Asia/Tokyo', ['2027-02-01 08:00:00']]);
    await carillon.store.write(({ queries }) =>
      queries.updateTable('accounts').set({ time_zone: 'Europe/Zurich' }).where('domain', '=', 'lines.test').execute(),
    );
    const inZone = await importFile(owner, ics, { default_time_zone: 'Asia/Tokyo' });
    assert.deepEqual(
      [inZone.time_zone, rows(inZone), await started()],
      ['Europe/Zurich', bad, ['2027-02-01 00:00:00']],
    );
    assert.equal((await importFile(owner, ics, { time_zone: 'UTC' })).time_zone, 'UTC');
    assert.deepEqual(await started(), ['2027-01-31 23:00:00']);
  });

  test('X9 X4 a repeated Idempotency-Key returns the first response and changes nothing', async () => {
    const owner = await carillon.createAccount('word.test');
    const ics = calendar(event('a', '20270101', 'A'));
    const first = await owner.carillon.events.import({ ics }, { idempotencyKey: 'one' });
    assert.deepEqual(await owner.carillon.events.import({ ics }, { idempotencyKey: 'one' }), first);
    assert.equal(first.created, '1');
    await assert.rejects(owner.carillon.events.import({ ics, silent: 1 }, { idempotencyKey: 'one' }), {
      code: 'idempotency_mismatch',
    });
  });

  test('X9 a file that is not a calendar is 400 with its line, one that is too large is 413, and nothing is imported', async () => {
    const owner = await carillon.createAccount('wrong.test');
    const broken = await carillon.call(owner, 'POST', '/v2/events/import', { ics: `BEGIN:VCALENDAR\nBEGIN:VEVENT\n` });
    assert.deepEqual(broken.json.errors, [
      { field: 'ics', message: 'is not a calendar: line 2 begins VEVENT, which does not end' },
    ]);
    const large = await carillon.call(owner, 'POST', '/v2/events/import', { ics: 'x'.repeat(9 * 1_024 * 1_024) });
    assert.deepEqual([large.status, large.json.code], [413, 'body_too_large']);
    const small = await carillon.call(owner, 'POST', '/v2/events', { event_name: 'x'.repeat(70_000) });
    assert.deepEqual([small.status, small.json.code], [413, 'body_too_large']);
    const media = await carillon.call(owner, 'POST', '/v2/events/import', calendar(), {
      'content-type': 'text/calendar',
    });
    assert.equal(media.status, 415);
    await assert.rejects(importFile(owner, calendar(event('a', '20270101', 'A')), { project_id: '999999' }), {
      code: 'not_found',
    });
    assert.deepEqual([await listEvents(owner), await kinds(owner)], [[], []]);
    // The same UIDs in another account are other events.
    const other = await carillon.createAccount('elsewhere.test');
    assert.deepEqual(counts(await importFile(other, calendar(event('a', '20270101', 'A')))), [1, 0, 0, 0]);
    assert.deepEqual(counts(await importFile(owner, calendar(event('a', '20270101', 'A')))), [1, 0, 0, 0]);
  });
}
