import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CarillonConsole } from '../../../packages/sdk/src/console.ts';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { runCarillon, runCarillonJson, serve } from '../../../test/kit/service/command.ts';
import { createTemporaryFolder, type Json } from '../../../test/kit/service/service.ts';
import { permissions, permissionsOf } from '../../permissions.ts';

const NEVER = '0000-00-00 00:00:00';

// A service runs on the database during all tests, since these commands must work concurrently with it.
const database = `sqlite:${join(createTemporaryFolder({ after }), 'carillon.db')}`;
const environment = { CARILLON_DATABASE: database };
const { baseUrl } = await serve({ after }, ['--database', database]);
const owner: Json = await runCarillonJson(
  ['accounts', 'create', '--domain', 'Acme.Test', '--email', 'owner@acme.test'],
  {
    environment,
  },
);

const command = (...args: string[]) => runCarillonJson(args, { environment });
const keysOf = (...args: string[]): Promise<Json> => command('keys', 'list', '--domain', 'acme.test', ...args);
const as = (key: string, domain = 'acme.test') => new Carillon({ baseUrl, auth: apiKey({ domain, key }) });
const statusFor = async (key: string) =>
  (await fetch(`${baseUrl}/v2/user`, { headers: { key, domain: 'acme.test' } })).status;

test('accounts create prints domain, user_id and key, and the key works immediately', async () => {
  assert.deepEqual(Object.keys(owner), ['domain', 'user_id', 'key']);
  assert.equal(owner.domain, 'acme.test');
  assert.match(owner.user_id, /^\d+$/);
  const user = await as(owner.key).user.get();
  assert.deepEqual([user.user_id, user.email, user.role], [owner.user_id, 'owner@acme.test', 'owner']);
  const [key] = await keysOf();
  assert.deepEqual([...key.permissions].sort(), [...permissions].sort());
});

test('a domain that is taken or invalid, and an invalid e-mail address: one line, exit 1', async () => {
  const mistakes: [string, string, RegExp][] = [
    ['ACME.test', 'other@acme.test', /^Another account has this domain\.$/],
    ['not a host', 'other@acme.test', /^--domain must be a host name, such as acme\.example; not a host is not one\.$/],
    ['other.test', 'nobody', /^--email must be an e-mail address; nobody is not one\.$/],
  ];
  const create = ['accounts', 'create'];
  const ended = await Promise.all(
    mistakes.map(([domain, email]) => runCarillon([...create, '--domain', domain, '--email', email], { environment })),
  );
  for (const [index, { code, stderrLines, stdout }] of ended.entries()) {
    assert.deepEqual([code, stdout, stderrLines.length], [1, '', 1]);
    assert.match(stderrLines[0] ?? '', mistakes[index]?.[2] ?? /^$/);
  }
});

test('C9 X9 accounts update sets zone and name while the service runs, and calendars follow', async () => {
  const own = as(owner.key);
  const { event_id } = await own.events.create({
    event_name: 'At ten',
    start_date: '2027-01-31 10:00:00',
    due_date: '2027-01-31 11:00:00',
  });
  const { url } = await own.calendars.create({});
  const first = await fetch(url);
  assert.match(await first.text(), /DTSTART:20270131T100000\r\n/);
  const update = ['accounts', 'update', '--domain', 'Acme.test'];
  const zoned = await command(...update, '--time-zone', 'Europe/Berlin');
  assert.deepEqual(zoned, { domain: 'acme.test', company_name: 'acme.test', time_zone: 'Europe/Berlin' });
  const named = await runCarillon([...update, '--company-name', ' Bells & Co '], { environment });
  assert.equal(named.stdout, 'domain: acme.test\ncompany name: Bells & Co\ntime zone: Europe/Berlin\n');
  const second = await fetch(url, { headers: { 'if-none-match': first.headers.get('etag') ?? '' } });
  assert.match(
    await second.text(),
    /X-WR-CALNAME:.*Bells & Co\r\n[\s\S]*DTSTART;TZID=Europe\/Berlin:20270131T100000\r\n/,
  );
  assert.equal((await own.company.get()).company_name, 'Bells & Co');
  await own.events.delete(event_id);
  const entries = await command('audit', '--domain', 'acme.test', '--action', 'account.changed');
  assert.deepEqual(
    entries.map(({ detail }: Json) => [detail.company_name, detail.time_zone]),
    [
      ['acme.test', 'Europe/Berlin'],
      ['Bells & Co', 'Europe/Berlin'],
    ],
  );
  const mistakes: [string[], RegExp][] = [
    [update, /^Give --company-name, --time-zone or both\.$/],
    [[...update, '--time-zone', '+01:00'], /^--time-zone must be the name of a time zone, .*; \+01:00 is not one\.$/],
    [
      [...update, '--company-name', 'x'.repeat(256)],
      /^--company-name must be a text of at most 255 characters without control characters\.$/,
    ],
    [
      ['accounts', 'update', '--domain', 'no.test', '--time-zone', 'UTC'],
      /^There is no account with the domain no\.test\.$/,
    ],
  ];
  for (const [args, line] of mistakes) {
    const { code, stderrLines } = await runCarillon(args, { environment });
    assert.deepEqual([code, stderrLines.length], [1, 1]);
    assert.match(stderrLines[0] ?? '', line);
  }
});

test('users invite prints a link that works while the service runs and replaces the previous one', async () => {
  const invite = ['users', 'invite', '--domain', 'acme.test', '--email', 'owner@acme.test'];
  const first = await command(...invite, '--base-url', `${baseUrl}/`);
  assert.deepEqual(Object.keys(first), ['link', 'expires']);
  assert.match(first.expires, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  assert.match(first.link, new RegExp(`^${baseUrl}/#/welcome/[\\w-]{43}$`));
  const console = new CarillonConsole({
    baseUrl,
    fetch: (url, init) => fetch(url, { ...init, headers: { ...(init.headers as object), origin: baseUrl } }),
  });
  const tokenOf = ({ link }: Json) => link.split('/').at(-1);
  assert.equal((await console.getInvitedUser(tokenOf(first))).email, 'owner@acme.test');
  const second = await runCarillon(invite, { environment: { ...environment, CARILLON_BASE_URL: baseUrl } });
  assert.match(second.stdout, new RegExp(`^link: ${baseUrl}/#/welcome/[\\w-]{43}\nexpires: [\\d -:]+\n$`));
  await assert.rejects(console.getInvitedUser(tokenOf(first)), { code: 'not_found' });
});

test('users invite uses the base URL of the environment, and rejects an unknown user', async () => {
  const invite = ['users', 'invite', '--domain', 'acme.test', '--email', 'owner@acme.test'];
  const at = async (more: Record<string, string>) =>
    (await runCarillonJson(invite, { environment: { ...environment, ...more } })).link.replace(/\/#.*/, '');
  assert.equal(await at({}), 'http://127.0.0.1:8080');
  assert.equal(await at({ CARILLON_HOST: '::1', CARILLON_PORT: '81' }), 'http://[::1]:81');
  const refused: [string[], Record<string, string>, RegExp][] = [
    [[...invite, '--base-url', 'acme'], {}, /^--base-url must be an http or https address/],
    [invite, { CARILLON_PORT: '0' }, /^With port 0 the port is not known beforehand: give --base-url\.$/],
    [invite, { CARILLON_HOST: '0.0.0.0' }, /^--host 0\.0\.0\.0 listens on every address/],
    [[...invite.slice(0, -1), 'x@acme.test'], {}, /^The account has no user with x@acme\.test\.$/],
    [
      ['users', 'invite', '--domain', 'no.test', '--email', 'a@b.c'],
      {},
      /^There is no account with the domain no\.test\.$/,
    ],
  ];
  for (const [args, more, line] of refused) {
    const { code, stderrLines } = await runCarillon(args, { environment: { ...environment, ...more } });
    assert.deepEqual([code, stderrLines.length], [1, 1]);
    assert.match(stderrLines[0] ?? '', line);
  }
});

test('users create adds a user, which the running service knows immediately; without --json it prints lines', async () => {
  const member = ['users', 'create', '--domain', 'acme.test', '--email', 'member@acme.test', '--role', 'member'];
  const user = await command(...member, '--first-name', 'Mem');
  assert.deepEqual(Object.keys(user), ['user_id']);
  const seen = await as(owner.key).users.get(user.user_id);
  assert.deepEqual([seen.email, seen.role, seen.first_name], ['member@acme.test', 'member', 'Mem']);

  const again = await runCarillon(member, { environment });
  assert.deepEqual([again.code, again.stderrLines], [1, ['The account already has a user with member@acme.test.']]);
  const admin = ['users', 'create', '--domain', 'acme.test', '--email', 'admin@acme.test', '--role'];
  const wrong = await runCarillon([...admin, 'king'], { environment });
  assert.deepEqual(
    [wrong.code, wrong.stderrLines],
    [1, ['--role must be one of member, admin, owner; king is not one.']],
  );
  const spoken = await runCarillon([...admin, 'admin'], { environment });
  assert.match(spoken.stdout, /^user: \d+\n$/);
});

test('C2 keys create issues the given permissions, and never more than the user has', async () => {
  const member = ['--domain', 'acme.test', '--email', 'member@acme.test'];
  const wide = await command('keys', 'create', ...member);
  assert.deepEqual(Object.keys(wide), ['id', 'key']);
  const narrow = await command(
    'keys',
    'create',
    ...member,
    '--permissions',
    'events:read,hooks:read',
    '--label',
    'feed',
  );
  const listed = await keysOf('--email', 'member@acme.test');
  assert.deepEqual(
    listed.map((key: Json) => [key.id, key.label, [...key.permissions].sort()]),
    [
      [wide.id, '', [...permissionsOf('member')].sort()],
      [narrow.id, 'feed', ['events:read', 'hooks:read']],
    ],
  );
  assert.equal((await as(narrow.key).events.list()).paging.total_records, 0);
  await assert.rejects(as(narrow.key).clients.list(), { code: 'not_permitted', status: 401 });

  const wider = await runCarillon(['keys', 'create', ...member, '--permissions', 'users:write'], { environment });
  assert.deepEqual([wider.code, wider.stderrLines], [1, ['--permissions: a member may not have users:write.']]);
  const unknown = await runCarillon(['keys', 'create', ...member, '--permissions', 'events:all'], { environment });
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderrLines.join('\n'), /^--permissions: events:all is not one of events:read, [\w:, ]+\.$/);
});

test('keys list prints the eight fields of each key and no secret', async () => {
  const [key] = await keysOf('--email', 'owner@acme.test');
  assert.deepEqual(Object.keys(key), [
    'id',
    'email',
    'label',
    'permissions',
    'date_created',
    'last_used',
    'expires',
    'revoked',
  ]);
  assert.equal(key.email, 'owner@acme.test');
  assert.equal(key.expires, NEVER);
  assert.equal(key.revoked, false);
  const { stdout } = await runCarillon(['keys', 'list', '--domain', 'acme.test'], { environment });
  assert.doesNotMatch(stdout, /carillon_/);
  assert.ok(!stdout.includes(owner.key));
});

test('C1 keys revoke takes effect in the running service immediately; revoking again is an error', async () => {
  const member = ['--domain', 'acme.test', '--email', 'member@acme.test'];
  const { id, key } = await command('keys', 'create', ...member);
  assert.equal(await statusFor(key), 200);
  const revoke = ['keys', 'revoke', '--domain', 'acme.test', '--id', id];
  assert.deepEqual(await command(...revoke), { id, revoked: true });
  assert.equal(await statusFor(key), 401);
  const listed = await keysOf('--email', 'member@acme.test');
  assert.equal(listed.find((one: Json) => one.id === id).revoked, true);
  const again = await runCarillon(revoke, { environment });
  assert.deepEqual([again.code, again.stderrLines], [1, [`There is no live key ${id} in acme.test.`]]);
});

test('C1 keys revoke takes only an id in canonical form', async () => {
  const member = ['--domain', 'acme.test', '--email', 'member@acme.test'];
  const { id, key } = await command('keys', 'create', ...member);
  const spellings = [`${id}e0`, `0x${Number(id).toString(16)}`, ` ${id}`, ''];
  const ended = await Promise.all(
    spellings.map((text) => runCarillon(['keys', 'revoke', '--domain', 'acme.test', '--id', text], { environment })),
  );
  for (const [index, { code, stderrLines }] of ended.entries())
    assert.deepEqual([code, stderrLines], [1, [`There is no live key ${spellings[index]} in acme.test.`]]);
  assert.equal(await statusFor(key), 200);
});

test('C2 C9 empty permissions and texts above the API’s limits are one line, and nothing is created', async () => {
  const create = ['keys', 'create', '--domain', 'acme.test', '--email', 'member@acme.test'];
  const user = ['users', 'create', '--domain', 'acme.test', '--email', 'long@acme.test', '--role', 'member'];
  const none = '--permissions must name at least one; without the flag the key has all permissions of the user.';
  const mistakes: [string[], string][] = [
    [[...create, '--permissions', ' , '], none],
    [[...create, '--permissions='], none],
    [
      [...create, '--label', 'x'.repeat(256)],
      '--label must be a text of at most 255 characters without control characters.',
    ],
    [
      [...user, '--first-name', 'x'.repeat(101)],
      '--first-name must be a text of at most 100 characters without control characters.',
    ],
    [
      [...user, '--last-name', 'x'.repeat(101)],
      '--last-name must be a text of at most 100 characters without control characters.',
    ],
  ];
  const there = async () => {
    const { data: users } = await as(owner.key).users.list();
    return [(await keysOf()).map((one: Json) => one.id), users.map((one) => one.email)];
  };
  const before = await there();
  const ended = await Promise.all(mistakes.map(([args]) => runCarillon(args, { environment })));
  assert.deepEqual(
    ended.map(({ code, stderrLines, stdout }) => [code, stderrLines, stdout]),
    mistakes.map(([, line]) => [1, [line], '']),
  );
  assert.deepEqual(await there(), before);
  const longest = await command(...create, '--label', 'x'.repeat(255));
  assert.equal((await keysOf()).find((one: Json) => one.id === longest.id).label.length, 255);
});

test('C1 a key with --expires expires, and the list shows when', async () => {
  const create = ['keys', 'create', '--domain', 'acme.test', '--email', 'owner@acme.test', '--expires'];
  const [long, short] = await Promise.all([command(...create, '4s'), command(...create, '900ms')]);
  const listed = await keysOf('--email', 'owner@acme.test');
  const { date_created, expires } = listed.find((one: Json) => one.id === long.id);
  const moment = (text: string) => Date.parse(`${text.replace(' ', 'T')}Z`);
  assert.equal(moment(expires) - moment(date_created), 4_000);
  assert.equal(await statusFor(long.key), 200);
  await eventually(
    () => statusFor(short.key),
    (status) => status === 401,
  );
  const wrong = await runCarillon([...create, 'soon'], { environment });
  assert.equal(wrong.code, 1);
  assert.match(
    wrong.stderrLines.join('\n'),
    /^--expires must be a duration such as 30d or 12h, .*; soon is not one\.$/,
  );
});

test('keys list shows when a key was last used', async () => {
  const create = ['keys', 'create', '--domain', 'acme.test', '--email', 'owner@acme.test', '--label', 'busy'];
  const { id, key } = await command(...create);
  const lastUsed = async () => (await keysOf()).find((one: Json) => one.id === id).last_used;
  assert.equal(await lastUsed(), NEVER);
  assert.equal(await statusFor(key), 200);
  // The service stores the last use with a delay.
  const used = await eventually(lastUsed, (moment) => moment !== NEVER);
  assert.match(used, /^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d$/);
});

test('an unknown account: one line, exit 1', async () => {
  const { code, stderrLines } = await runCarillon(['keys', 'list', '--domain', 'nowhere.test'], {
    environment,
  });
  assert.deepEqual([code, stderrLines], [1, ['There is no account with the domain nowhere.test.']]);
  const user = ['keys', 'create', '--domain', 'acme.test', '--email', 'nobody@acme.test'];
  const nobody = await runCarillon(user, { environment });
  assert.deepEqual([nobody.code, nobody.stderrLines], [1, ['The account has no user with nobody@acme.test.']]);
});
