import assert from 'node:assert/strict';
import { after } from 'node:test';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { QueryInterceptor } from '../../../test/kit/database/query-interceptor.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { ICAL } from '../../../test/kit/packages.ts';
import { insertRows } from '../../../test/kit/service/full-accounts.ts';
import type { ApiUser } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';
import { formatTimestamp } from '../../http/fields/dates.ts';
import { addDays } from '../../ical/days.ts';
import { createLog } from '../../log.ts';
import { permissions } from '../../permissions.ts';
import { getEffectivePermissions } from './calendars.ts';
import { createCalendarUrl } from './ics-route.ts';

const today = formatTimestamp(systemClock.now()).slice(0, 10);
const inDays = (count: number) => addDays(today, count).replaceAll('-', '');

for (const { test, testService } of stores) {
  const carillon = await testService({ after });
  const owner = await carillon.createAccount('acme.test');

  type CalendarResponse = { readonly status: number; readonly headers: Headers; readonly text: string };

  async function get(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<CalendarResponse> {
    const answer = await fetch(url, { method, headers });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }

  /** Parses the entries of a calendar; returns their names by UID. */
  function namesIn({ text }: CalendarResponse): Record<string, string> {
    const events = new ICAL.Component(ICAL.parse(text)).getAllSubcomponents('vevent');
    const found = events.map((event) => ['uid', 'summary'].map((name) => String(event.getFirstPropertyValue(name))));
    return Object.fromEntries(found.map(([uid = '', name = '']) => [uid.replace(/@.*/, ''), name]));
  }

  const names = async (url: string) => Object.values(namesIn(await get(url))).sort();

  /** Creates an account with entries of an admin, of a member, and of neither. */
  async function createEntries(domain: string) {
    const admin = await carillon.createAccount(domain);
    const member = await carillon.createUser(admin, 'member');
    const { projects, tasks, subtasks } = admin.carillon;
    const bells = await projects.create({ project_name: 'Bells', users: [member.userId] });
    const other = await projects.create({ project_name: 'Other' });
    const event = (who: ApiUser, event_name: string, project_id: string) =>
      who.carillon.events.create({ event_name, start_date: inDays(1), due_date: inDays(2), project_id });
    await event(admin, 'Casting', bells.project_id);
    await event(admin, 'Board', other.project_id);
    await event(member, 'Mine', '0');
    const cast = await tasks.create(other.project_id, {
      task_name: 'Cast',
      due_date: inDays(3),
      users: [member.userId],
    });
    await tasks.create(bells.project_id, { task_name: 'Theirs', due_date: inDays(3), users: [admin.userId] });
    await tasks.create(bells.project_id, { task_name: 'Without a day' });
    await tasks.create(bells.project_id, { task_name: 'Done', due_date: inDays(3), completed: 1 });
    await member.carillon.tasks.create(bells.project_id, { task_name: 'My own', due_date: inDays(4) });
    await subtasks.create(cast.task_id, { subtask_name: 'Melt', due_date: inDays(2), users: [member.userId] });
    return { admin, member, bells, other };
  }

  test('X9 a calendar shows the events and the open due tasks of its user, of a project, or of the account', async () => {
    const { admin, member, bells } = await createEntries('scopes.test');
    const { calendars } = member.carillon;
    const own = await calendars.create({ label: 'telephone' });
    const project = await calendars.create({ scope: 'project', project_id: bells.project_id });
    const account = await calendars.create({ scope: 'account' });
    assert.deepEqual(await names(own.url), ['Cast', 'Casting', 'Melt', 'Mine', 'My own']);
    assert.deepEqual(await names(project.url), ['Casting', 'My own', 'Theirs']);
    const all = ['Board', 'Cast', 'Casting', 'Melt', 'Mine', 'My own', 'Theirs'];
    assert.deepEqual(await names(account.url), all);
    const admins = await admin.carillon.calendars.create({});
    assert.deepEqual(await names(admins.url), ['Board', 'Casting', 'Theirs']);

    const { text, headers } = await get(account.url);
    assert.equal(headers.get('content-type'), 'text/calendar; charset=utf-8');
    assert.equal(headers.get('cache-control'), 'private, no-cache');
    assert.match(String(headers.get('content-disposition')), /^inline; filename="[\w.]+\.ics"$/);
    const unfolded = text.replaceAll('\r\n ', '');
    assert.match(unfolded, /SUMMARY:Casting\r\nDESCRIPTION:Project: Bells\\nCreated by: \S.*\r\nCATEGORIES:Bells\r\n/);
    assert.match(unfolded, /SUMMARY:Melt\r\nDESCRIPTION:Project: Other\\nTask: Cast\\nAssigned to: Test member\r\n/);
    assert.match(
      unfolded,
      /SUMMARY:Cast\r\n(?:.+\r\n)*?URL:http:\/\/127\.0\.0\.1:\d+\/#\/tasks\/\d+\r\nTRANSP:TRANSPARENT/,
    );
    assert.match(
      unfolded,
      new RegExp(`DTSTART;VALUE=DATE:${inDays(1)}\r\nDTEND;VALUE=DATE:${inDays(3)}\r\nSUMMARY:Mine`),
    );
    assert.match(unfolded, /X-WR-CALNAME:\S.*\r\n/);

    // Tasks assigned only to a deleted user are in the calendar of their creator.
    await admin.carillon.users.delete(member.userId);
    assert.deepEqual(await names(admins.url), ['Board', 'Cast', 'Casting', 'Melt', 'Theirs']);
  });

  test('X9 an unchanged calendar is 304 without reading its entries; any change changes its ETag', async () => {
    const { admin } = await createEntries('tags.test');
    const { url } = await admin.carillon.calendars.create({ scope: 'account' });
    const first = await get(url);
    const tag = String(first.headers.get('etag'));
    const again = await get(url);
    assert.deepEqual([again.headers.get('etag'), again.text], [tag, first.text]);
    const same = await get(url, { 'if-none-match': `W/${tag}` });
    assert.deepEqual([same.status, same.text, same.headers.get('etag')], [304, '', tag]);
    const head = await get(url, {}, 'HEAD');
    assert.deepEqual([head.status, head.headers.get('etag'), head.text], [200, tag, '']);
    assert.equal(head.headers.get('content-length'), null, 'a length would be that of what is not sent');
    const [event] = (await admin.carillon.events.list()).data;
    await admin.carillon.events.update(String(event?.event_id), { event_name: 'Moved' });
    const changed = await get(url, { 'if-none-match': tag });
    assert.deepEqual([changed.status, Object.values(namesIn(changed)).includes('Moved')], [200, true]);
    await admin.carillon.events.delete(String(event?.event_id));
    assert.ok(!Object.values(namesIn(await get(url, { 'if-none-match': tag }))).includes('Moved'));
  });

  test('X9 concurrent fetches share one lookup and one write, and none gets a lookup from before a commit', async (t) => {
    const admin = await carillon.createAccount('shared.test');
    const { url } = await admin.carillon.calendars.create({ scope: 'account' });
    const store = await openStoreAt(t, carillon.database, { openAs: 'command' });
    let writes = 0;
    const write: typeof store.write = (...args) => {
      writes += 1;
      return store.write(...args);
    };
    const interceptor = new QueryInterceptor();
    const read = interceptor.installOn(store.read);
    const onCommitted: typeof store.onCommitted = (listener) => store.onCommitted(listener);
    const counted = { write, onCommitted } as typeof store;
    const { findDocument } = createCalendarUrl({ store: counted, log: createLog('silent'), baseUrl: () => '' });
    const file = new URL(url).pathname.split('/').at(-1) ?? '';
    const fetchNow = () => findDocument(read, file, systemClock.now());

    const isHeld = interceptor.delayNext('calendars');
    const early = Array.from({ length: 20 }, fetchNow);
    await isHeld;
    const renamed = store.write(({ queries }) =>
      queries.updateTable('accounts').set({ company_name: 'Renamed' }).where('domain', '=', 'shared.test').execute(),
    );
    await renamed;
    const late = fetchNow();
    interceptor.release();
    const tags = new Set((await Promise.all(early)).map((document) => document?.etag));
    assert.deepEqual([tags.size, writes], [1, 1]);
    assert.notEqual((await late)?.etag, [...tags][0]);
    assert.equal(interceptor.countReads('calendars'), 2);
  });

  test('X9 every invalid address gets the same response; addresses are in no log and in no list', async () => {
    const { url, id } = await owner.carillon.calendars.create({ label: 'x' });
    const token = /\/calendar\/(.+)\.ics$/.exec(url)?.[1] ?? '';
    assert.equal(token.length, 43);
    const base = carillon.baseUrl;
    const before = await get(url);
    await owner.carillon.calendars.revoke(id);
    const wrong = [
      url,
      `${base}/calendar/${'x'.repeat(43)}.ics`,
      `${base}/calendar/x.ics`,
      `${base}/calendar/${token}`,
    ];
    const answers = await Promise.all([...wrong, `${base}/calendar/${token}.ics%00`].map((one) => get(one)));
    assert.deepEqual([before.status, ...answers.map(({ status }) => status)], [200, 404, 404, 404, 404, 404]);
    assert.equal(new Set(answers.map(({ text, headers }) => text + headers.get('content-type'))).size, 1);
    await assert.rejects(owner.carillon.calendars.revoke(id), { code: 'not_found' });
    const lines = await eventually(
      () => carillon.logged.filter(({ route }) => route === '/calendar/:file'),
      (all) => all.length >= answers.length,
    );
    assert.ok(lines.length > 0);
    const rows = await carillon.store.read.selectFrom('audit').selectAll().execute();
    const kept = await carillon.store.read.selectFrom('calendars').selectAll().execute();
    const metrics = await carillon.call(undefined, 'GET', '/metrics');
    const listed = await carillon.call(owner, 'GET', '/v2/calendars');
    for (const text of [carillon.logged, rows, kept, metrics.text, listed.text].map((one) => JSON.stringify(one)))
      assert.ok(!text.includes(token));
    assert.deepEqual(
      rows.filter(({ subject }) => subject === `calendar ${id}`).map(({ action }) => action),
      ['calendar.created', 'calendar.revoked'],
    );
  });

  test('X9 a calendar shows only what its creator may read, and ends with its user, project and key', async () => {
    const { admin, member, bells } = await createEntries('narrow.test');
    const only = await carillon.createKey(member, { permissions: ['events:read'] });
    const events = await only.carillon.calendars.create({ scope: 'account' });
    const read = await get(events.url);
    assert.deepEqual(Object.values(namesIn(read)).sort(), ['Board', 'Casting', 'Mine']);
    assert.ok(!/Bells|Created by/.test(read.text), 'neither projects nor people are named');
    const none = await carillon.createKey(member, { permissions: permissions.filter((one) => one !== 'events:read') });
    await assert.rejects(none.carillon.calendars.create({}), { code: 'not_permitted' });

    // A permission that a role has lost is also lost in the calendars of its users.
    assert.deepEqual([...getEffectivePermissions('events:read,users:write', 'member')], ['events:read']);
    assert.deepEqual(
      [...getEffectivePermissions('events:read,users:write,nothing', 'admin')],
      ['events:read', 'users:write'],
    );

    const passing = await carillon.createKey(member, { expiresAt: systemClock.now() + 3_600_000 });
    const made = await passing.carillon.calendars.create({});
    assert.notEqual(made.expires, '0000-00-00 00:00:00');
    await carillon.store.write(({ queries }) =>
      queries.updateTable('calendars').set({ expires_at: 1 }).where('calendar_id', '=', Number(made.id)).execute(),
    );
    assert.equal((await get(made.url)).status, 404);
    await assert.rejects(passing.carillon.calendars.get(made.id), { code: 'not_found' });

    const project = await member.carillon.calendars.create({ scope: 'project', project_id: bells.project_id });
    await admin.carillon.projects.delete(bells.project_id);
    assert.equal((await get(project.url)).status, 404);
    assert.equal((await get(events.url)).status, 200);
    await admin.carillon.users.delete(member.userId);
    assert.equal((await get(events.url)).status, 404);
    assert.deepEqual((await admin.carillon.calendars.list({ user_id: member.userId })).data, []);
  });

  test('X9 calendars are listed and revoked by their user and by admins, and show when they were last fetched', async () => {
    const { admin, member } = await createEntries('lists.test');
    const mine = await member.carillon.calendars.create({ label: 'mine', time_zone: 'Europe/Zurich' });
    const theirs = await admin.carillon.calendars.create({ label: 'theirs' });
    const { url: _, ...kept } = mine;
    assert.deepEqual(await member.carillon.calendars.get(mine.id), kept);
    assert.equal(kept.last_fetched, '0000-00-00 00:00:00');
    await get(mine.url);
    assert.notEqual((await member.carillon.calendars.get(mine.id)).last_fetched, '0000-00-00 00:00:00');
    const labels = async ({ carillon: own }: ApiUser) => (await own.calendars.list()).data.map(({ label }) => label);
    assert.deepEqual([await labels(member), await labels(admin)], [['mine'], ['mine', 'theirs']]);
    await assert.rejects(member.carillon.calendars.get(theirs.id), { code: 'not_found' });
    await assert.rejects(member.carillon.calendars.revoke(theirs.id), { code: 'not_found' });
    await admin.carillon.calendars.revoke(mine.id);
    assert.equal((await get(mine.url)).status, 404);
    for (const [input, field] of [
      [{ scope: 'project' }, 'project_id'],
      [{ scope: 'own', project_id: '1' }, 'project_id'],
      [{ time_zone: 'Mars/Olympus' }, 'time_zone'],
      [{ time_zone: '+01:00' }, 'time_zone'],
    ] as const) {
      await assert.rejects(
        admin.carillon.calendars.create(input),
        (error) => error instanceof Error && 'errors' in error && JSON.stringify(error.errors).includes(`"${field}"`),
      );
    }
  });

  test('X9 times are in the zone of the calendar, else of the account, else floating', async () => {
    const { admin } = await createEntries('zones.test');
    await admin.carillon.events.create({
      event_name: 'At ten',
      start_date: `${addDays(today, 1)} 10:00:00`,
      due_date: `${addDays(today, 1)} 11:00:00`,
    });
    const start = async (url: string) =>
      /DTSTART([;:].*)\r\nDTEND.*\r\nSUMMARY:At ten/.exec((await get(url)).text)?.[1];
    const plain = await admin.carillon.calendars.create({});
    const zoned = await admin.carillon.calendars.create({ time_zone: 'America/New_York' });
    const day = inDays(1);
    assert.equal(await start(plain.url), `:${day}T100000`);
    assert.equal(await start(zoned.url), `;TZID=America/New_York:${day}T100000`);
    await carillon.store.write(({ queries }) =>
      queries.updateTable('accounts').set({ time_zone: 'Europe/Zurich' }).where('domain', '=', 'zones.test').execute(),
    );
    assert.equal(await start(plain.url), `;TZID=Europe/Zurich:${day}T100000`);
    assert.equal(await start(zoned.url), `;TZID=America/New_York:${day}T100000`);
  });

  test('X9 a calendar covers one year back and three ahead, with events in progress; of too many, it has the nearest', async () => {
    const admin = await carillon.createAccount('window.test');
    const at = (from: number, to: number) => ({ start_date: inDays(from), due_date: inDays(to) });
    const spans: [string, number, number][] = [
      ['long ago', -500, -400],
      ['since long ago', -500, 10],
      ['a year ago', -360, -360],
      ['in three years', 1090, 1090],
      ['far away', 1110, 1110],
    ];
    for (const [event_name, from, to] of spans) await admin.carillon.events.create({ event_name, ...at(from, to) });
    const { url } = await admin.carillon.calendars.create({ scope: 'account' });
    assert.deepEqual(await names(url), ['a year ago', 'in three years', 'since long ago']);
    // Insert more entries than a calendar can have, all on two days.
    const { account_id } = await carillon.store.read
      .selectFrom('accounts')
      .select('account_id')
      .where('domain', '=', 'window.test')
      .executeTakeFirstOrThrow();
    const row = (day: number) => ({
      ...{ account_id, event_name: `day ${day}`, user_id: Number(admin.userId), project_id: 0 },
      ...{ start_date: `${addDays(today, day)} 00:00:00`, due_date: `${addDays(today, day)} 00:00:00` },
      ...{ date_created: 0, date_modified: null },
    });
    for (let count = 0; count < 5_500; count += 500) {
      await carillon.store.write(({ queries }) =>
        queries
          .insertInto('events')
          .values(Array.from({ length: 1_000 }, (_, index) => row(index % 2 === 0 ? 5 : -40)))
          .execute(),
      );
    }
    await admin.carillon.events.create({ event_name: 'one more', ...at(6, 6) });
    const all = Object.values(namesIn(await get(url)));
    assert.equal(all.length, 10_000);
    assert.equal(all.filter((name) => name === 'day 5').length, 5_500);
    assert.ok(['one more', 'in three years', 'since long ago'].every((name) => all.includes(name)));
  });

  test('X9 a calendar has all of many events that began before its range', async () => {
    const admin = await carillon.createAccount('many-begun.test');
    const expected = Array.from({ length: 250 }, (_, index) => `event ${String(index).padStart(3, '0')}`);
    for (const event_name of expected) {
      // All of these events begin on the same day.
      await admin.carillon.events.create({ event_name, start_date: inDays(-500), due_date: inDays(10) });
    }
    const { url } = await admin.carillon.calendars.create({ scope: 'account' });
    assert.deepEqual(await names(url), expected);
  });

  test('X9 a calendar imported into another account shows the same there', async () => {
    const { admin } = await createEntries('from.test');
    const nasty = 'a;b,c\\n "d" \n 予定 😀 END:VEVENT';
    const spans = [
      [`${addDays(today, 1)} 00:00:00`, `${addDays(today, 3)} 00:00:00`],
      [`${addDays(today, 1)} 10:00:00`, `${addDays(today, 1)} 11:30:00`],
      [`${addDays(today, 1)} 22:00:00`, `${addDays(today, 1)} 23:59:59`],
      [`${addDays(today, 1)} 10:00:00`, `${addDays(today, 1)} 00:00:00`],
    ];
    for (const [start_date = '', due_date = ''] of spans)
      await admin.carillon.events.create({ event_name: nasty, start_date, due_date });
    const { url } = await (await carillon.createKey(admin, { permissions: ['events:read'] })).carillon.calendars.create(
      {
        scope: 'account',
        time_zone: 'Europe/Zurich',
      },
    );
    const { text } = await get(url);
    const other = await carillon.createAccount('to.test');
    assert.equal((await other.carillon.events.import({ ics: text })).created, '7');
    const shown = async ({ carillon: own }: ApiUser) =>
      (await own.events.list()).data
        .map(({ event_name, start_date, due_date }) => [event_name, start_date, due_date])
        .sort();
    assert.deepEqual(await shown(other), await shown(admin));
    const again = await other.carillon.events.import({ ics: text });
    assert.deepEqual([again.created, again.unchanged], ['0', '7']);
    const home = await admin.carillon.events.import({ ics: text });
    assert.deepEqual([home.created, home.dropped[0]?.reason, home.dropped[0]?.count], ['0', 'own', '7']);
  });

  test('X9 an entry names the first twenty assigned users, for any number of tasks and assignments', async () => {
    const admin = await carillon.createAccount('crowd.test');
    const { projects, tasks, calendars } = admin.carillon;
    const { project_id } = await projects.create({ project_name: 'Crowded' });
    const { account_id } = await carillon.store.read
      .selectFrom('users')
      .select('account_id')
      .where('user_id', '=', Number(admin.userId))
      .executeTakeFirstOrThrow();
    const users = Array.from({ length: 21 }, (_, index) => ({
      ...{ account_id, user_id: 500_000 + index, email: `${index}@crowd.test`, role: 'member' },
      ...{ first_name: 'Number', last_name: String(index + 1) },
    }));
    await insertRows(carillon.store, 'users', users);
    const create = async (task_name: string, count: number) => {
      const task = { task_name, due_date: inDays(1), users: users.slice(0, count).map(({ user_id }) => user_id) };
      await tasks.create(project_id, task);
    };
    await create('Some', 20);
    await create('All', 21);
    const { url } = await calendars.create({ scope: 'account' });
    const assignedIn = async () => {
      const text = (await get(url)).text.replaceAll('\r\n ', '');
      return Object.fromEntries(
        [...text.matchAll(/SUMMARY:(\w+)\r\nDESCRIPTION:.*?Assigned to: (.*)\r\n/g)].map(([, name, who]) => [
          name,
          who,
        ]),
      );
    };
    const twenty = users.slice(0, 20).map(({ last_name }) => `Number ${last_name}`);
    const few = await assignedIn();
    assert.deepEqual(few, { Some: twenty.join('\\, '), All: `${twenty.join('\\, ')} and others` });
    // Create more assignments than one batch loads.
    for (let number = 1; number <= 100; number += 1) await create(`More${number}`, 21);
    const many = await assignedIn();
    assert.equal(Object.keys(many).length, 102);
    assert.deepEqual([many.Some, many.All, many.More100], [few.Some, few.All, few.All]);
  });
}
