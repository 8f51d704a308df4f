import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test as plainTest, type TestContext } from 'node:test';
import { permissionsOf } from '../../src/permissions.ts';
import { insertKey } from '../../src/resources/keys/actions.ts';
import { insertUser } from '../../src/resources/users/users.ts';
import { systemRandom } from '../../src/secrets.ts';
import { AccountWrite } from '../../src/store/account-scope.ts';
import { carillon, carillonJson, type Ended } from '../kit/command.ts';
import { openAt } from '../kit/database.ts';
import { temporaryFolder } from '../kit/service.ts';
import { stores } from '../kit/stores.ts';

/** Every way to clear the screen, start a new line or column, add a link, or change the text direction. */
const HOSTILE =
  'x\u001b[2J\u001b]8;;http://evil.test\u0007\r\n7\towner@acme.test\tforged\u009b31m\u0085\u2028\u2029\u202e\u2066\u007fy';

/** Characters that must not reach a terminal. Tabs and line feeds come from the commands themselves. */
const CONTROL = /[^\P{Cc}\n\t]|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

function assertSafe({ stdout, faults }: Ended, what: string) {
  for (const line of [stdout, ...faults]) assert.doesNotMatch(line, CONTROL, what);
}

for (const { test, database } of stores) {
  test('a label and an e-mail address from an old database cannot control the terminal or forge a line', async (t) => {
    const environment = { CARILLON_DATABASE: await database(t) };
    const owner = ['--domain', 'acme.test', '--email', 'owner@acme.test'];
    await carillonJson(['accounts', 'create', ...owner], { environment });
    const store = await openAt(t, environment.CARILLON_DATABASE, { as: 'command' });
    await store.write(async (tx) => {
      const write = new AccountWrite(tx, 1, Date.now());
      const person = {
        email: `${HOSTILE}@acme.test`,
        first_name: HOSTILE,
        last_name: HOSTILE,
        role: 'member',
      } as const;
      const { user_id: userId } = await insertUser(write, person);
      const key = { userId, label: HOSTILE, permissions: permissionsOf('member'), expiresAt: null };
      await insertKey(write, key, systemRandom);
    });
    const list = await carillon(['keys', 'list', '--domain', 'acme.test'], { environment });
    assertSafe(list, 'keys list');
    const rows = list.stdout.trimEnd().split('\n');
    assert.deepEqual(
      rows.map((row) => row.split('\t').length),
      [5, 5],
    );
    const audit = await carillon(['audit'], { environment });
    assertSafe(audit, 'audit');
    assert.ok(audit.stdout.includes('forged'));
    for (const row of audit.stdout.trimEnd().split('\n')) assert.equal(row.split('\t').length, 7, row);
    for (const words of [['keys', 'list', '--domain', 'acme.test'], ['audit']]) {
      const json = await carillon([...words, '--json'], { environment });
      assertSafe(json, words.join(' '));
      assert.ok(
        JSON.stringify(JSON.parse(json.stdout)).includes(JSON.stringify(HOSTILE).slice(1, -1)),
        'the same value',
      );
    }
  });
}

/** Starts a service whose every text is hostile: its records, errors and headers. */
async function hostileService(t: TestContext): Promise<string> {
  const record = {
    id: '7',
    event_id: '7',
    event_name: HOSTILE,
    user_id: HOSTILE,
    email: HOSTILE,
    role: HOSTILE,
    target_url: HOSTILE,
    state: HOSTILE,
    event: 'new_event',
    attempts: [{ outcome: HOSTILE, response: HOSTILE }],
    cursor: HOSTILE,
    kind: HOSTILE,
    resource_url: HOSTILE,
    occurred_at: HOSTILE,
    [HOSTILE]: HOSTILE,
  };
  const report = { dropped: [{ count: 1, what: HOSTILE, says: HOSTILE, examples: [HOSTILE] }], time_zone: HOSTILE };
  const responses: Readonly<Record<string, [number, unknown]>> = {
    notifications: [401, { code: 'unauthorized', message: HOSTILE }],
    user: [200, { data: record }],
    events: [200, { data: [record], paging: { offset: 0, limit: 1000, total_records: 1 } }],
    hooks: [200, { data: [record], paging: { offset: 0, limit: 1000, total_records: 1 } }],
    deliveries: [200, { data: record }],
    'events/import': [200, { data: report }],
    clients: [400, { code: 'invalid_input', message: HOSTILE, errors: [{ field: HOSTILE, message: HOSTILE }] }],
    contacts: [500, { code: 'internal', message: HOSTILE, title: HOSTILE, detail: HOSTILE }],
    company: [409, { code: HOSTILE, message: HOSTILE }],
  };
  const server = createServer(({ url = '' }, response) => {
    const [, path = ''] = /^\/v2\/((?:events\/import)|\w+)/.exec(url) ?? [];
    const [status, body] = responses[path] ?? [502, {}];
    const type = status < 400 ? 'application/json' : 'application/problem+json';
    response.writeHead(status, { 'content-type': type, location: 'http://x/v2/events/7' });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

plainTest(
  'no response of a service can control the terminal of its client, neither a record nor an error',
  async (t) => {
    const folder = temporaryFolder(t);
    const environment = {
      CARILLON_SERVICE: await hostileService(t),
      CARILLON_DOMAIN: 'acme.test',
      CARILLON_KEY: 'carillon_key',
      XDG_CONFIG_HOME: folder,
    };
    const ics = join(folder, 'calendar.ics');
    writeFileSync(ics, 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n');
    const commands = [
      ['whoami'],
      ['events', 'list'],
      ['events', 'list', '--json'],
      ['deliveries', 'show', '7'],
      ['clients', 'list'],
      ['contacts', 'list'],
      ['company'],
      ['import-calendar', ics],
      ['trigger', 'new_event'],
      ['listen', '--after', '1'],
      ['events', 'show', HOSTILE],
      [`--${HOSTILE}`],
    ];
    // In small groups, because each command is a process.
    for (let first = 0; first < commands.length; first += 3) {
      const few = commands.slice(first, first + 3).map(async (words) => {
        const ended = await carillon(words, { environment, input: '' });
        assertSafe(ended, words.join(' '));
        assert.ok(
          [ended.stdout, ...ended.faults].join().includes('forged'),
          `${words.join(' ')}: printed, and escaped`,
        );
      });
      await Promise.all(few);
    }
  },
);
