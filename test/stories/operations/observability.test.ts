import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test as plainTest, type TestContext } from 'node:test';
import { permissionsOf } from '../../../src/permissions.ts';
import { insertKey } from '../../../src/resources/keys/keys.ts';
import { insertUser } from '../../../src/resources/users/users.ts';
import { hashApiKey, systemRandom } from '../../../src/secrets.ts';
import { AccountWrite } from '../../../src/store/account-scope.ts';
import { openStoreAt, readAllBytes } from '../../kit/database/database.ts';
import { eventually } from '../../kit/eventually.ts';
import { sendRawRequest } from '../../kit/network/raw-http.ts';
import { startTarget } from '../../kit/network/target.ts';
import { type CommandResult, runCarillon, runCarillonJson } from '../../kit/service/command.ts';
import { type ApiResponse, createTemporaryFolder, type TestService } from '../../kit/service/service.ts';
import { stores } from '../../kit/service/stores.ts';

for (const { test, testService } of stores) {
  test('C23 X6 ended hooks are counted by reason, from every cause', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const member = await carillon.createUser(owner, 'member');
    const unsubscribes = await startTarget(t, 401);
    const fails = await startTarget(t, 500);
    const idle = await startTarget(t);
    const { hooks, clients, users } = owner.carillon;
    const subscribe = (target_url: string) => hooks.create({ target_url, event: 'new_client' });
    const [unsubscribed, failed] = [await subscribe(unsubscribes.url), await subscribe(fails.url)];
    const deleted = await subscribe(idle.urlOf('/deleted'));
    await member.carillon.hooks.create({ target_url: idle.urlOf('/member'), event: 'new_client' });

    await hooks.delete(deleted.id);
    await users.delete(member.userId);
    await clients.create({ client_name: 'ACME' });
    for (const { id } of [unsubscribed, failed]) {
      await eventually(
        () => hooks.get(id),
        (hook) => hook.state === 'ended',
      );
    }
    const { text } = await carillon.call(undefined, 'GET', '/metrics');
    const counted = [...text.matchAll(/^carillon_hooks_ended_total\{reason="(\w+)"\} (\d+)$/gm)];
    assert.deepEqual(counted.map(([, reason, count]) => `${reason} ${count}`).sort(), [
      'answered_401 1',
      'deleted 1',
      'three_failures 1',
      'user_deleted 1',
    ]);
  });

  test('X6 the age of pending deliveries counts live and enabled hooks only; hook queues and nodes are counted', async (t) => {
    const carillon = await testService(t, { options: { retryWaits: '1h,1h' } });
    const owner = await carillon.createAccount('acme.test');
    const target = await startTarget(t, 500);
    const { hooks, clients } = owner.carillon;
    const metric = async (name: string) => {
      const { text } = await carillon.call(undefined, 'GET', '/metrics');
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    };
    assert.equal(await metric('carillon_nodes'), 1);
    assert.equal(await metric('carillon_oldest_pending_seconds'), 0);
    const { id } = await hooks.create({ target_url: target.url, event: 'new_client' });
    await clients.create({ client_name: 'ACME' });
    await eventually(
      () => metric('carillon_hooks_failing'),
      (failing) => failing === 1,
    );
    assert.ok((await metric('carillon_oldest_pending_seconds')) > 0);
    assert.equal(await metric('carillon_hook_queues_leased'), 1);
    assert.ok((await metric('carillon_commit_events_total\\{from="here"\\}')) >= 2);

    await hooks.update(id, { enabled: 0 });
    assert.equal(await metric('carillon_oldest_pending_seconds'), 0);
    await hooks.update(id, { enabled: 1 });
    assert.ok((await metric('carillon_oldest_pending_seconds')) > 0);
    await hooks.delete(id);
    assert.equal(await metric('carillon_oldest_pending_seconds'), 0);
    assert.equal(await metric('carillon_hooks_failing'), 0);
    const pending = await carillon.store.read.selectFrom('pending_deliveries').selectAll().execute();
    assert.equal(pending.length, 1, 'pending deliveries of an ended hook are kept');
  });
}

for (const { test, testService } of stores) {
  type LogLine = Readonly<Record<string, unknown>>;
  const logLinesOf = ({ logged }: TestService, event: string): LogLine[] =>
    logged.filter((line) => line.event === event);

  test('one log line per request: user, route, status, duration and source', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const responses = [
      await carillon.call(owner, 'GET', '/v2/events?limit=5'),
      await carillon.call(owner, 'GET', '/v2/events/123'),
      await carillon.call(owner, 'POST', '/v2/clients', {}),
      await carillon.call(undefined, 'GET', '/v2/nowhere'),
      await carillon.call(undefined, 'GET', '/healthz'),
    ];
    const lines = await eventually(
      () => logLinesOf(carillon, 'request'),
      (all) => all.length >= responses.length,
    );
    assert.deepEqual(
      lines.map(({ method, route, status, problem }) => [method, route, status, problem]),
      [
        ['GET', '/v2/events', 200, undefined],
        ['GET', '/v2/events/:event_id', 404, 'not_found'],
        ['POST', '/v2/clients', 400, 'invalid_input'],
        ['GET', '(none)', 401, 'unauthorized'],
        ['GET', '/healthz', 200, undefined],
      ],
    );
    for (const [index, line] of lines.entries()) {
      // The response has the same request id, which the caller can quote.
      assert.equal(line.request_id, responses[index]?.headers.get('x-request-id'));
      assert.equal(line.from, '127.0.0.1');
      assert.equal(typeof line.ms, 'number');
      assert.deepEqual(
        [typeof line.account_id, line.user_id, typeof line.key_id],
        index < 3 ? ['number', Number(owner.userId), 'number'] : ['undefined', undefined, 'undefined'],
      );
    }
    assert.equal(new Set(lines.map((line) => line.request_id)).size, lines.length);
  });

  test('one log line per attempt: delivery, target, outcome and result', async (t) => {
    const carillon = await testService(t);
    const owner = await carillon.createAccount('acme.test');
    const target = await startTarget(t, 500, 200);
    const { id } = await owner.carillon.hooks.create({ target_url: target.urlOf('/path'), event: 'new_client' });
    await owner.carillon.clients.create({ client_name: 'ACME' });
    const lines = await eventually(
      () => logLinesOf(carillon, 'delivery.attempted'),
      (all) => all.length === 2,
    );
    const [notification] = target.received;
    for (const line of lines) {
      assert.equal(line.hook_id, Number(id));
      assert.equal(line.delivery_id, Number(notification?.deliveryId));
      assert.equal(line.kind, 'new_client');
      assert.equal(line.target, `${target.url}/…`);
      assert.deepEqual([typeof line.account_id, typeof line.ms], ['number', 'number']);
    }
    assert.deepEqual(
      lines.map(({ outcome, result, failures }) => [outcome, result, failures]),
      [
        ['500', 'wait', 1],
        ['200', 'delivered', 0],
      ],
    );
    assert.ok(Number(lines[0]?.wait_ms) >= 50);
  });

  /** Sends requests with all mistakes that a caller can make with a key and a target URL. */
  async function makeMistakes(
    carillon: TestService,
    t: TestContext,
  ): Promise<{ secrets: string[]; responses: ApiResponse[] }> {
    const owner = await carillon.createAccount('acme.test');
    const target = await startTarget(t, 500, 401);
    const secret = target.urlOf('/canary-path-of-the-target?canary-query=1');
    const { id } = await owner.carillon.hooks.create({ target_url: secret, event: 'new_client' });
    const issued = await owner.carillon.keys.create({ label: 'canary' });
    const signed = await owner.carillon.hooks.createSecret(id);
    await owner.carillon.clients.create({ client_name: 'ACME' });
    await eventually(
      () => owner.carillon.hooks.get(id),
      ({ state }) => state === 'ended',
    );
    const hook = { target_url: secret, event: 'new_client' };
    const forbidden = 'http://169.254.169.254/canary-path-of-the-target';
    const wrongKey = `${owner.key.slice(0, -1)}_`;
    const responses = [
      await carillon.call(owner, 'POST', '/v2/hooks', hook),
      await carillon.call(owner, 'POST', '/v2/hooks', hook),
      await carillon.call(owner, 'POST', '/v2/hooks', { ...hook, event: 'no_kind' }),
      await carillon.call(owner, 'POST', '/v2/hooks', { target_url: forbidden, event: 'new_client' }),
      await carillon.call(owner, 'POST', '/v2/hooks', `{"target_url":"${secret}"`),
      await carillon.call(owner, 'GET', `/v2/${owner.key}`),
      await carillon.call(owner, 'POST', `/v2/hooks/${id}/secret`, { overlap: signed.secret }),
      await carillon.call(owner, 'GET', `/v2/events?project_id=${owner.key}`),
      await carillon.call(owner, 'POST', '/v2/clients', { client_name: 7, notes: owner.key }),
      await carillon.call(undefined, 'GET', '/v2/user', undefined, { domain: owner.domain, key: wrongKey }),
      await carillon.call(undefined, 'GET', '/v2/user', undefined, { domain: 'other.test', key: owner.key }),
      await carillon.call(undefined, 'GET', '/healthz', undefined, { authorization: `Bearer ${owner.key}` }),
    ];
    await sendRawRequest(carillon.baseUrl, [
      'GET /v2/user HTTP/1.1',
      'host: x',
      `key: ${owner.key}`,
      `key: ${owner.key}`,
    ]);
    const broken = await sendRawRequest(carillon.baseUrl, ['GET /v2/user HTTP/1.1', 'host: x', `key ${owner.key}`]);
    responses.push({ status: broken.status, headers: new Headers(), text: broken.body, json: undefined });
    return { secrets: [owner.key, wrongKey, issued.key, signed.secret, 'canary-path', 'canary-query'], responses };
  }

  test('no key, secret or full target URL is in log lines, error responses or metrics; stored keys are hashed', async (t) => {
    const carillon = await testService(t);
    const { secrets, responses } = await makeMistakes(carillon, t);
    const errors = responses.filter(({ status }) => status >= 400);
    assert.equal(errors.length, 11);
    const metrics = await carillon.call(undefined, 'GET', '/metrics');
    await carillon.stop();

    const logged = carillon.logged.map((line) => JSON.stringify(line));
    assert.ok(logged.length > 20);
    for (const secret of secrets) {
      for (const text of [...logged, ...errors.map((one) => one.text), metrics.text])
        assert.ok(!text.includes(secret), `${secret} is in ${text}`);
    }
    const [key = '', , issued = ''] = secrets;
    const file = await readAllBytes(carillon.database);
    for (const one of [key, issued]) {
      assert.ok(!file.includes(one.slice('carillon_'.length)));
      assert.ok(file.includes(hashApiKey(one)));
    }
  });

  test('the options of a start are logged with masked secrets', async (t) => {
    const carillon = await testService(t, { options: { metricsToken: 'canary-canary-canary' } });
    const [line] = logLinesOf(carillon, 'started');
    assert.deepEqual((line?.options as LogLine | undefined)?.['metrics-token'], '(set)');
    assert.ok(!JSON.stringify(carillon.logged).includes('canary'));
  });
}

/** A text with every way to clear the screen, start a new line or column, add a link, or change the text direction. */
const HOSTILE_TEXT =
  'x\u001b[2J\u001b]8;;http://evil.test\u0007\r\n7\towner@acme.test\tforged\u009b31m\u0085\u2028\u2029\u202e\u2066\u007fy';

/** Characters that must not reach a terminal. Tabs and line feeds are allowed, because the commands write them. */
const UNSAFE_CHARACTER = /[^\P{Cc}\n\t]|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

function assertSafeOutput({ stdout, stderrLines }: CommandResult, what: string) {
  for (const line of [stdout, ...stderrLines]) assert.doesNotMatch(line, UNSAFE_CHARACTER, what);
}

for (const { test, database } of stores) {
  test('a label and an e-mail address from an old database cannot control the terminal or forge a line', async (t) => {
    const environment = { CARILLON_DATABASE: await database(t) };
    const owner = ['--domain', 'acme.test', '--email', 'owner@acme.test'];
    await runCarillonJson(['accounts', 'create', ...owner], { environment });
    const store = await openStoreAt(t, environment.CARILLON_DATABASE, { openAs: 'command' });
    await store.write(async (tx) => {
      const write = new AccountWrite(tx, 1, Date.now());
      const person = {
        email: `${HOSTILE_TEXT}@acme.test`,
        first_name: HOSTILE_TEXT,
        last_name: HOSTILE_TEXT,
        role: 'member',
      } as const;
      const { user_id: userId } = await insertUser(write, person);
      const key = { userId, label: HOSTILE_TEXT, permissions: permissionsOf('member'), expiresAt: null };
      await insertKey(write, key, systemRandom);
    });
    const list = await runCarillon(['keys', 'list', '--domain', 'acme.test'], { environment });
    assertSafeOutput(list, 'keys list');
    const rows = list.stdout.trimEnd().split('\n');
    assert.deepEqual(
      rows.map((row) => row.split('\t').length),
      [5, 5],
    );
    const audit = await runCarillon(['audit'], { environment });
    assertSafeOutput(audit, 'audit');
    assert.ok(audit.stdout.includes('forged'));
    for (const row of audit.stdout.trimEnd().split('\n')) assert.equal(row.split('\t').length, 7, row);
    for (const words of [['keys', 'list', '--domain', 'acme.test'], ['audit']]) {
      const json = await runCarillon([...words, '--json'], { environment });
      assertSafeOutput(json, words.join(' '));
      assert.ok(
        JSON.stringify(JSON.parse(json.stdout)).includes(JSON.stringify(HOSTILE_TEXT).slice(1, -1)),
        'the same value',
      );
    }
  });
}

/** The URL of the record that `trigger` creates. */
const RECORD_URL = 'http://x/v2/events/7';

/** Starts a service in which every text is hostile: in records, errors and headers. */
async function startHostileService(t: TestContext): Promise<string> {
  const record = {
    id: '7',
    event_id: '7',
    event_name: HOSTILE_TEXT,
    user_id: HOSTILE_TEXT,
    email: HOSTILE_TEXT,
    role: HOSTILE_TEXT,
    target_url: HOSTILE_TEXT,
    state: HOSTILE_TEXT,
    event: 'new_event',
    ...{ events: ['new_event'], scope: 'own', enabled: '1', name: HOSTILE_TEXT, headers: [HOSTILE_TEXT] },
    attempts: [{ outcome: HOSTILE_TEXT, response: HOSTILE_TEXT }],
    cursor: HOSTILE_TEXT,
    kind: HOSTILE_TEXT,
    resource_url: HOSTILE_TEXT,
    occurred_at: HOSTILE_TEXT,
    [HOSTILE_TEXT]: HOSTILE_TEXT,
  };
  const report = {
    dropped: [{ count: 1, what: HOSTILE_TEXT, message: HOSTILE_TEXT, examples: [HOSTILE_TEXT] }],
    time_zone: HOSTILE_TEXT,
  };
  const responses: Readonly<Record<string, [number, unknown]>> = {
    notifications: [401, { code: 'unauthorized', message: HOSTILE_TEXT }],
    user: [200, { data: record }],
    events: [200, { data: [record], paging: { offset: 0, limit: 1000, total_records: 1 } }],
    hooks: [200, { data: [record], paging: { offset: 0, limit: 1000, total_records: 1 } }],
    users: [401, { code: 'not_permitted', message: HOSTILE_TEXT }],
    'deliveries/7': [200, { data: record }],
    // The delivery of what `trigger` causes, so that its hook is printed.
    deliveries: [
      200,
      {
        data: [{ ...record, resource_url: RECORD_URL }],
        paging: { offset: 0, limit: 1000, total_records: 1 },
      },
    ],
    'events/import': [200, { data: report }],
    clients: [
      400,
      { code: 'invalid_input', message: HOSTILE_TEXT, errors: [{ field: HOSTILE_TEXT, message: HOSTILE_TEXT }] },
    ],
    contacts: [500, { code: 'internal', message: HOSTILE_TEXT, title: HOSTILE_TEXT, detail: HOSTILE_TEXT }],
    company: [409, { code: HOSTILE_TEXT, message: HOSTILE_TEXT }],
  };
  const server = createServer(({ url = '' }, response) => {
    const [, path = ''] = /^\/v2\/(events\/import|deliveries\/7|\w+)/.exec(url) ?? [];
    const [status, body] = responses[path] ?? [502, {}];
    const type = status < 400 ? 'application/json' : 'application/problem+json';
    response.writeHead(status, { 'content-type': type, location: RECORD_URL });
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
    const folder = createTemporaryFolder(t);
    const environment = {
      CARILLON_SERVICE: await startHostileService(t),
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
      ['events', 'show', HOSTILE_TEXT],
      [`--${HOSTILE_TEXT}`],
    ];
    // Run the commands in small groups, because each command is a process.
    for (let first = 0; first < commands.length; first += 3) {
      const few = commands.slice(first, first + 3).map(async (words) => {
        const ended = await runCarillon(words, { environment, input: '' });
        assertSafeOutput(ended, words.join(' '));
        assert.ok(
          [ended.stdout, ...ended.stderrLines].join().includes('forged'),
          `${words.join(' ')}: printed, and escaped`,
        );
      });
      await Promise.all(few);
    }
  },
);
