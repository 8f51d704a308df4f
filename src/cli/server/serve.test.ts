import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import { runCarillon, serve } from '../../../test/kit/service/command.ts';
import { createTemporaryFolder } from '../../../test/kit/service/service.ts';
import { environmentVariableOf, options } from '../../config/options.ts';

/** Runs `carillon serve`, which must fail with exit status 1 and one line per reason on standard error. */
async function assertStartFails(args: readonly string[], lines: readonly RegExp[], environment = {}, cwd?: string) {
  const ended = await runCarillon(['serve', ...args], { environment, ...(cwd === undefined ? {} : { cwd }) });
  assert.equal(ended.code, 1);
  assert.equal(ended.stdout, '');
  assert.equal(ended.stderrLines.length, lines.length, ended.stderrLines.join('\n'));
  for (const [index, line] of lines.entries()) assert.match(ended.stderrLines[index] ?? '', line);
}

// Every test has its own process and folder, so the tests can run concurrently.
describe('carillon serve', { concurrency: 3 }, () => {
  test('the first start prints a link to the console, the domain and the key; a second start only prints the URL', async (t) => {
    const folder = createTemporaryFolder(t);
    const first = await serve(t, [], { cwd: folder });
    for (const name of ['console', 'domain', 'key'])
      assert.equal(first.greeting.filter((line) => line.startsWith(`${name}: `)).length, 1, name);
    assert.match(first.baseUrl, /^http:\/\/127\.0\.0\.1:\d+$/);
    const [domain, key] = [String(first.greetingField('domain')), String(first.greetingField('key'))];
    assert.match(key, /^carillon_[\w-]{43}$/);
    const link = String(first.greetingField('console'));
    assert.match(link, /\/#\/welcome\/[\w-]{43}$/);
    assert.ok(first.greeting.some((line) => line.startsWith(`curl -X POST ${first.baseUrl}/v2/events `)));

    const owner = new Carillon({ baseUrl: first.baseUrl, auth: apiKey({ domain, key }) });
    assert.equal((await owner.user.get()).role, 'owner');
    assert.equal(await first.stop(), 0);
    const token = link.split('/').at(-1) ?? '';
    for (const secret of [key, token]) assert.ok(!first.stderrLog().join('\n').includes(secret));

    const second = await serve(t, [], { cwd: folder });
    assert.deepEqual(second.greeting, [`console: ${second.baseUrl}/`]);
    const again = new Carillon({ baseUrl: second.baseUrl, auth: apiKey({ domain, key }) });
    assert.equal((await again.company.get()).domain, domain);
    assert.equal((await fetch(`${second.baseUrl}/readyz`)).status, 200);
  });

  test('the curl command of the greeting works unchanged', async (t) => {
    const { greeting } = await serve(t, [], { cwd: createTemporaryFolder(t) });
    const line = greeting.find((one) => one.startsWith('curl ')) ?? '';
    const [, method = '', url = '', rest = ''] = /^curl -X (\w+) (\S+) (.*)$/.exec(line) ?? [];
    const headers = [...rest.matchAll(/-H '([\w-]+): ([^']+)'/g)].map(([, name = '', value = '']): [string, string] => [
      name,
      value,
    ]);
    const [, body = ''] = /-d '([^']+)'/.exec(rest) ?? [];
    const response = await fetch(url, { method, headers, body });
    assert.equal(response.status, 201);
  });

  test('of two concurrent starts on a new file one serves and prints the key, and the other reports it and exits', async (t) => {
    const folder = createTemporaryFolder(t);
    const both = await Promise.allSettled([serve(t, [], { cwd: folder }), serve(t, [], { cwd: folder })]);
    const started = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = both.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
    assert.equal(started.length, 1);
    assert.match(String(started[0]?.greetingField('key')), /^carillon_/);
    assert.equal(failed.length, 1);
    assert.match(String(failed[0]), /Another service is running on data\/carillon\.db\./);
  });

  test('a port in use: one line, exit 1; the next start still prints the key', async (t) => {
    const folder = createTemporaryFolder(t);
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    t.after(() => taken.close());
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const line = new RegExp(
      `^Cannot listen on 127\\.0\\.0\\.1 port ${port}: the port is in use; choose another one with --port\\.$`,
    );
    await assertStartFails(['--port', String(port)], [line], {}, folder);

    // A failed start must not consume the key, which is printed only once.
    const { greetingField } = await serve(t, [], { cwd: folder });
    assert.match(String(greetingField('key')), /^carillon_/);
  });

  test('a host that is not of this machine: one line, exit 1', async (t) => {
    await assertStartFails(
      ['--port', '0', '--host', '192.0.2.1'],
      [/^Cannot listen on 192\.0\.2\.1 port 0: this machine has no such address\.$/],
      {},
      createTemporaryFolder(t),
    );
  });

  test('a folder that is not writable: one line, exit 1', async (t) => {
    const folder = createTemporaryFolder(t);
    writeFileSync(join(folder, 'file'), '');
    await assertStartFails(
      ['--database', `sqlite:${folder}/file/below.db`],
      [/^The database .*below\.db cannot be opened: /],
    );
    await assertStartFails(
      ['--database', 'sqlite:/proc/carillon.db'],
      [/^The database \/proc\/carillon\.db cannot be opened: /],
    );
    await assertStartFails(['--database', `sqlite:${folder}`], [/^The database .* cannot be opened: /]);
  });

  test('a file that is not a database: one line, exit 1, and the file is unchanged', async (t) => {
    const path = join(createTemporaryFolder(t), 'notes.txt');
    writeFileSync(path, 'Not a database, and longer than a page header would be. '.repeat(10));
    await assertStartFails(
      ['--database', `sqlite:${path}`],
      [/^The database .*notes\.txt cannot be opened: file is not a database\.$/],
    );
  });

  test('a second service on the same file: one line, exit 1; the first keeps running', async (t) => {
    const folder = createTemporaryFolder(t);
    const { baseUrl } = await serve(t, [], { cwd: folder });
    await assertStartFails(['--port', '0'], [/^Another service is running on data\/carillon\.db\.$/], {}, folder);
    assert.equal((await fetch(`${baseUrl}/readyz`)).status, 200);
  });

  test('a database from a newer version: one line, exit 1', async (t) => {
    const folder = createTemporaryFolder(t);
    const path = join(folder, 'carillon.db');
    assert.equal(await (await serve(t, ['--database', `sqlite:${path}`])).stop(), 0);
    const database = new DatabaseSync(path);
    database.exec("insert into migrations (version, name) values (99, 'later')");
    database.close();
    await assertStartFails(
      ['--database', `sqlite:${path}`],
      [/^The database is at version 99, from a newer Carillon; this one knows \d+\. Update Carillon\.$/],
    );
  });

  test('C10 a wildcard host without a base URL: one line, exit 1', async (t) => {
    const cwd = createTemporaryFolder(t);
    const line =
      /^--host 0x0 listens on every address: set --base-url to the one under which others reach the service\.$/;
    await assertStartFails(['--port', '0', '--host', '0x0'], [line], {}, cwd);
    const { baseUrl } = await serve(t, ['--host', '0.0.0.0', '--base-url', 'https://calendar.example/'], { cwd });
    assert.equal(baseUrl, 'https://calendar.example');
  });

  test('all invalid options are reported together, one per line, named by flag or variable as given', async (t) => {
    await assertStartFails(
      ['--host', 'a b', '--port', '70000', '--retry-waits=1m', '--attempt-timeout', '5', '--database', 'mysql:x'],
      [
        /^--host must be a host name or an IP address\.$/,
        /^--port must be a whole number from 0 to 65535\.$/,
        /^--database must be sqlite: and the path of a file, /,
        /^CARILLON_BASE_URL must be an http or https address without query, /,
        /^CARILLON_ALLOW_TARGETS "nonsense\/x" is not a CIDR\.$/,
        /^--retry-waits must be two durations of at most 365d, such as 1m,2h\.$/,
        /^--attempt-timeout must be a duration such as 15s, 2h or 250ms\.$/,
        /^CARILLON_CORS_ORIGINS must list origins such as https:\/\/app\.example\.com, null or \*; \*\.example\.com is none\.$/,
        /^CARILLON_TRUST_PROXY must list IP addresses or CIDRs; all is none\.$/,
        /^CARILLON_METRICS_TOKEN must be at least 16 characters long\.$/,
        /^CARILLON_MAX_REQUESTS must be a whole number from 1 to 100000\.$/,
        /^CARILLON_RATE_LIMIT_KEY_READS must be off, or a rate such as 100\/s, 6000\/m or 1000\/h\.$/,
        /^CARILLON_MAX_PENDING_PER_ACCOUNT must be off or a whole number from 1 to 1000000000\.$/,
        /^CARILLON_LOG_LEVEL must be debug, info, warn, error or silent\.$/,
      ],
      {
        CARILLON_BASE_URL: 'ftp://x',
        CARILLON_ALLOW_TARGETS: 'nonsense/x',
        CARILLON_CORS_ORIGINS: 'null,*.example.com,*',
        CARILLON_TRUST_PROXY: 'all',
        CARILLON_RATE_LIMIT_KEY_READS: '100',
        CARILLON_MAX_PENDING_PER_ACCOUNT: '0',
        CARILLON_METRICS_TOKEN: 'short',
        CARILLON_MAX_REQUESTS: '0',
        CARILLON_LOG_LEVEL: 'loud',
        // The flag --port overrides this variable, so its invalid value is not reported.
        CARILLON_PORT: 'x',
      },
      createTemporaryFolder(t),
    );
  });

  test('unknown and invalid options are reported together', async () => {
    await assertStartFails(
      ['--prot', '9', '--nope=1', 'extra', '--port', 'x'],
      [
        /^--prot is not an option of carillon serve\.$/,
        /^--nope is not an option of carillon serve\.$/,
        /^extra is not an option of carillon serve\.$/,
        /^--port must be a whole number from 0 to 65535\.$/,
      ],
    );
  });

  test('an unknown command, a missing option, a missing value: one line, exit 1', async () => {
    const mistakes: [string[], string][] = [
      [['ring'], "unknown command 'ring'"],
      [['keys', 'list'], "required option '--domain <host>' not specified"],
      [['serve', '--port'], "option '--port <number>' argument missing"],
    ];
    const ended = await Promise.all(mistakes.map(([args]) => runCarillon(args)));
    assert.deepEqual(
      ended.map(({ code, stderrLines }) => [code, stderrLines]),
      mistakes.map(([, what]) => [1, [`error: ${what}; see carillon --help`]]),
    );
  });

  test('a variable that looks like an option but is not is reported, and the service starts', async (t) => {
    const { stderrLog, stop } = await serve(t, [], {
      cwd: createTemporaryFolder(t),
      environment: { CARILLON_PROT: '1', CARILLON_PORT: '' },
    });
    await stop();
    assert.equal(stderrLog()[0], 'CARILLON_PROT is set but is not an option of Carillon; see carillon serve --help.');
  });

  test('carillon --help lists every command, and serve --help every option with its variable', async () => {
    const [overview, serving] = await Promise.all([runCarillon(['--help']), runCarillon(['serve', '--help'])]);
    assert.deepEqual([overview.code, serving.code], [0, 0]);
    for (const command of ['serve', 'accounts', 'users', 'keys', 'doctor'])
      assert.match(overview.stdout, new RegExp(`^  ${command}\\b`, 'm'));
    for (const { flag, placeholder, defaultText = '' } of Object.values(options)) {
      const entry = serving.stdout.split(/^ {2}(?=-)/m).find((one) => one.startsWith(`--${flag} <`)) ?? '';
      const words = entry.replace(/\s+/g, ' ');
      assert.ok(words.startsWith(`--${flag} <${placeholder}> `), flag);
      assert.ok(words.includes(environmentVariableOf(flag)), flag);
      assert.ok(words.includes(defaultText), flag);
    }
  });
});
