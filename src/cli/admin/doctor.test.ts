import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import { createTestClock } from '../../../test/kit/clock.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { startMailServer } from '../../../test/kit/network/mail.ts';
import { startTarget } from '../../../test/kit/network/target.ts';
import { runCarillon, serve } from '../../../test/kit/service/command.ts';
import { createTemporaryFolder } from '../../../test/kit/service/service.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';
import { systemClock } from '../../clock.ts';
import { loadConfig } from '../../config/load.ts';
import type { OptionName } from '../../config/options.ts';
import { createAccount } from '../../resources/accounts/actions.ts';
import { systemRandom } from '../../secrets.ts';
import { parseDatabaseUrl } from '../../store/database-url.ts';
import { inspectDatabase } from '../../store/open.ts';
import type { DatabaseInspection, Queries } from '../../store/store.ts';
import { type CheckInput, checkInstallation } from './doctor-checks.ts';

/**
 * With this base URL the service does not count as a loopback service, so loopback targets are forbidden like private
 * addresses.
 */
const PUBLIC = { CARILLON_BASE_URL: 'https://calendar.example' };

/** Reads from the log of a service on which URL the service listens. */
async function listeningUrl({ stderrLog }: Awaited<ReturnType<typeof serve>>): Promise<string> {
  const said = () =>
    stderrLog()
      .map(parsed)
      .find(({ event }) => event === 'started')?.url;
  return String(await eventually(said, (url) => url !== undefined));
}

test('C11 doctor target prints the address and the setting that allows it; with that setting the target is notified', async (t) => {
  const target = await startTarget(t);
  const url = target.urlOf('/hook');
  const { host } = new URL(url);
  const refused = await runCarillon(['doctor', 'target', url], { environment: PUBLIC });
  assert.equal(refused.code, 1);
  assert.equal(refused.stdout, '');
  assert.equal(refused.stderrLines.length, 1);
  const [, address, name = '', value = ''] =
    /^forbidden: (\S+) is not a public address; .* (CARILLON_\w+)=(\S+)$/.exec(refused.stderrLines[0] ?? '') ?? [];
  assert.equal(address, '127.0.0.1');
  assert.deepEqual([name, value], ['CARILLON_ALLOW_TARGETS', host.replace(':', '/32:')]);

  const allowed = await runCarillon(['doctor', 'target', url], { environment: { ...PUBLIC, [name]: value } });
  assert.deepEqual(allowed, { code: 0, stdout: 'allowed: 127.0.0.1\n', stderrLines: [] });

  const started = await serve(t, [], { cwd: createTemporaryFolder(t), environment: { ...PUBLIC, [name]: value } });
  const listening = await listeningUrl(started);
  const auth = apiKey({ domain: String(started.greetingField('domain')), key: String(started.greetingField('key')) });
  const owner = new Carillon({ baseUrl: listening, auth });
  await owner.hooks.create({ target_url: url, event: 'new_client' });
  const { client_id } = await owner.clients.create({ client_name: 'ACME' });
  const [told] = await target.waitForArrivals(1);
  assert.equal(told?.resourceUrl, `https://calendar.example/v2/clients/${client_id}`);

  // The setting allows only this port of this address.
  const beside = 'http://127.0.0.1:1/hook';
  await assert.rejects(owner.hooks.create({ target_url: beside, event: 'new_client' }), { code: 'invalid_input' });
});

test('C11 without the setting the service rejects the same target, with one word to the caller', async (t) => {
  const started = await serve(t, [], { cwd: createTemporaryFolder(t), environment: PUBLIC });
  const listening = await listeningUrl(started);
  const auth = apiKey({ domain: String(started.greetingField('domain')), key: String(started.greetingField('key')) });
  const owner = new Carillon({ baseUrl: listening, auth });
  await assert.rejects(owner.hooks.create({ target_url: 'http://127.0.0.1:9/hook', event: 'new_client' }), {
    code: 'invalid_input',
    errors: [{ field: 'target_url', message: 'forbidden' }],
  });
  // The explanation is in the operator's log and not in the response.
  const said = () =>
    started
      .stderrLog()
      .map(parsed)
      .find(({ event }) => event === 'target.forbidden');
  const line = await eventually(said, (found) => found !== undefined);
  assert.match(String(line?.explanation), /^127\.0\.0\.1 .*CARILLON_ALLOW_TARGETS=127\.0\.0\.1\/32:9$/);
});

function parsed(line: string): Record<string, unknown> {
  return JSON.parse(line);
}

test('doctor target extends the existing setting, and reports addresses that no setting allows', async () => {
  const environment = { CARILLON_ALLOW_TARGETS: 'intranet.test' };
  const { stderrLines } = await runCarillon(['doctor', 'target', 'http://10.1.2.3:8080/x'], { environment });
  assert.match(stderrLines.join('\n'), /CARILLON_ALLOW_TARGETS=intranet\.test,10\.1\.2\.3\/32:8080$/);
});

test('doctor target reports an invalid address or configuration', async () => {
  const mistakes: [string, Record<string, string>, string][] = [
    ['ftp://x', {}, 'The target must be an absolute http or https URL.'],
    ['http://user@10.0.0.1/', {}, 'The target must not contain a user name or password.'],
    ['http://10.0.0.1/', { CARILLON_PORT: 'x' }, 'CARILLON_PORT must be a whole number from 0 to 65535.'],
  ];
  const ended = await Promise.all(
    mistakes.map(([url, environment]) => runCarillon(['doctor', 'target', url], { environment })),
  );
  assert.deepEqual(
    ended.map(({ code, stderrLines }) => [code, stderrLines]),
    mistakes.map(([, , line]) => [1, [line]]),
  );
});

test('X10 doctor signs in to the mail server, and sends a mail only with --mail-to', async (t) => {
  const box = await startMailServer(t);
  const environment = (password: string) => ({
    CARILLON_SMTP_URL: `smtp://carillon:${password}@127.0.0.1:${box.port}`,
    CARILLON_MAIL_FROM: 'bells@acme.test',
  });
  const mailLine = async (password: string, ...more: string[]) => {
    const { stdout } = await runCarillon(['doctor', ...more], {
      environment: environment(password),
      cwd: createTemporaryFolder(t),
    });
    return stdout.split('\n').find((line) => / mail /.test(line)) ?? '';
  };
  const right = 'pass%3Aword%2F%231';
  assert.match(await mailLine(right), /^ok {7}mail +smtp:\/\/…@127\.0\.0\.1:\d+\?tls=off accepts the login$/);
  assert.match(await mailLine('wrong'), /^fault {4}mail .* accepts no mail: Invalid login: 535 .*; check --smtp-url/);
  assert.match(await mailLine(right, '--offline'), /not checked/);
  assert.equal(box.receivedMails.length, 0);
  assert.match(
    await mailLine(right, '--host', '::1', '--mail-to', 'me@acme.test'),
    /^ok .* accepted a mail to me@acme\.test$/,
  );
  assert.deepEqual(
    box.acceptedMails.map(({ to, headers }) => [to, headers.get('subject')]),
    [['me@acme.test', 'Test mail from Carillon']],
  );
});

test('doctor prints one line per check, exits 0 without faults and 1 with one, and creates nothing', async (t) => {
  const cwd = createTemporaryFolder(t);
  const none = await runCarillon(['doctor', '--offline'], { cwd });
  assert.deepEqual([none.code, none.stderrLines], [0, []]);
  assert.match(none.stdout, /^warning {2}database {7}none at sqlite:data\/carillon\.db yet/m);
  assert.deepEqual(readdirSync(cwd), []);

  await serve(t, [], { cwd });
  const running = await runCarillon(['doctor', '--offline', '--json'], { cwd });
  assert.equal(running.code, 0);
  const findings: { check: string; state: string; message: string }[] = JSON.parse(running.stdout);
  assert.deepEqual(
    findings.map(({ check, state }) => [check, state]),
    [
      'configuration',
      'base address',
      'targets',
      'database',
      'schema',
      'integrity',
      'durability',
      'disk',
      'service',
      'time',
      'egress',
    ].map((check) => [check, 'ok']),
  );
  assert.match(findings.find(({ check }) => check === 'service')?.message ?? '', /^running on the database/);

  const wrong = await runCarillon(['doctor', '--offline', '--port', 'x'], {
    cwd,
    environment: { CARILLON_HOST: '::' },
  });
  assert.deepEqual([wrong.code, wrong.stdout.trim().split('\n').length], [1, 2]);
  const text = join(cwd, 'text.db');
  writeFileSync(text, 'Dear diary, today I was mistaken for a database. '.repeat(100));
  const torn = await runCarillon(['doctor', '--offline', '--database', `sqlite:${text}`], { cwd });
  assert.equal(torn.code, 1);
  assert.match(
    torn.stdout,
    /^fault {4}database {7}sqlite:.*text\.db cannot be reached: file is not a database; check/m,
  );
  const away = ['doctor', '--offline', '--database', 'postgres://nobody:secret@127.0.0.1:1/x'];
  const unreachable = await runCarillon(away, { cwd });
  assert.equal(unreachable.code, 1);
  assert.match(unreachable.stdout, /^fault {4}database {7}postgres:.* cannot be reached: .*ECONNREFUSED/m);
  assert.doesNotMatch(unreachable.stdout, /secret/);
});

function configOf(flags: Partial<Record<OptionName, string>>) {
  const loaded = loadConfig({ flags, environment: {} });
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return loaded.config;
}

/**
 * Runs all checks, and returns the findings of one check as `state: message`. By default, the input has no problems.
 */
async function findingsOf(check: string, subject: Partial<CheckInput>): Promise<string[]> {
  const all = await checkInstallation({
    config: configOf({}),
    unknownVariableNames: [],
    inspection: undefined,
    clock: systemClock,
    resolve: async () => ({ addresses: ['192.0.2.1'] }),
    ...subject,
  });
  return all.filter((one) => one.check === check).map(({ state, message }) => `${state}: ${message}`);
}

/** Newest schema version, which is the number of migrations. */
const newestSchemaVersion = readdirSync(new URL('../../store/migrations', import.meta.url)).filter((file) =>
  /^\d{4}_\w+\.sql$/.test(file),
).length;

const noRows = { executeTakeFirst: async () => ({ latest: null }) };
/** Inspection of a sound database. Its queries are a stub that finds no occurrence. */
const soundInspection: DatabaseInspection = {
  engine: 'SQLite 3.53.0',
  schemaVersion: 0,
  newestSchemaVersion: 2,
  weakSettings: [],
  integrityErrors: [],
  sizeBytes: 1_048_576,
  freeBytes: 10 * 1_024 ** 3,
  locationProblems: [],
  clockAheadMs: undefined,
  isServiceRunning: false,
  queries: noRows as unknown as Queries,
  close: async () => undefined,
};

test('doctor checks the base address and the allowed targets', async () => {
  const at = (flags: Partial<Record<OptionName, string>>) => findingsOf('base address', { config: configOf(flags) });
  assert.deepEqual(await at({}), ['ok: http://127.0.0.1:8080, because --base-url is not set']);
  const wildcard = { host: '0.0.0.0', baseUrl: 'http://localhost:8080' };
  assert.match(
    (await at(wildcard)).join(),
    /^warning: http:\/\/localhost:8080 points every other machine to itself; set/,
  );
  assert.match(
    (await at({ baseUrl: 'http://a.test' })).join(),
    /^warning: http:\/\/a\.test is not https: .*; put a proxy/,
  );
  assert.match((await at({ baseUrl: 'https://a.test' })).join(), /^warning: .* add it to --trust-proxy$/);
  assert.deepEqual(await at({ baseUrl: 'https://a.test', trustProxy: '127.0.0.1' }), ['ok: https://a.test']);

  const open = (allowTargets: string) => findingsOf('targets', { config: configOf({ allowTargets }) });
  assert.deepEqual(await open(''), ['ok: private networks are blocked']);
  assert.deepEqual(await open('10.0.0.0/8,intra.test'), [
    'ok: open in addition to public addresses: 10.0.0.0/8, intra.test',
  ]);
  assert.match(
    (await open('10.1.2.3,0.0.0.0/0,::/0')).join(),
    /^warning: --allow-targets opens 0\.0\.0\.0\/0, ::\/0: /,
  );
  const origins = (corsOrigins: string) => findingsOf('origins', { config: configOf({ corsOrigins }) });
  assert.deepEqual(await origins('https://app.example'), []);
  assert.match(
    (await origins('null,*')).join('\n'),
    /^warning: --cors-origins holds \*: every web page .*\nwarning: --cors-origins holds null: every web page /,
  );
  assert.deepEqual(await findingsOf('configuration', { unknownVariableNames: ['CARILLON_PROT'] }), [
    'warning: CARILLON_PROT: not an option of Carillon; correct or remove it',
  ]);
});

test('doctor checks the database: existence, integrity, schema, durability, file system and disk space', async () => {
  const at = (check: string, differs: Partial<DatabaseInspection>) =>
    findingsOf(check, { inspection: { ...soundInspection, ...differs } });
  assert.match((await findingsOf('database', {})).join(), /^warning: none at sqlite:data\/carillon\.db yet; /);
  assert.match(
    (await findingsOf('database', { inspection: 'no route' })).join(),
    /^fault: .* cannot be reached: no route; check/,
  );
  assert.match((await at('database', {})).join(), /^ok: sqlite:data\/carillon\.db, SQLite 3\.53\.0, 1\.0 MiB$/);
  assert.match(
    (await at('database', { locationProblems: ['it lies on NFS'] })).join(),
    /^fault: it lies on NFS; move it/,
  );
  assert.match(
    (await at('schema', { schemaVersion: 3 })).join(),
    /^fault: version 3 is from a newer Carillon.*; update/,
  );
  assert.match((await at('schema', {})).join(), /^warning: version 0 of 2; the next start migrates it/);
  assert.match(
    (await at('integrity', { integrityErrors: ['row 1 missing'] })).join(),
    /^fault: row 1 missing; stop the service/,
  );
  assert.match(
    (await at('durability', { weakSettings: ['fsync is off'] })).join(),
    /^fault: fsync is off: .*; turn it on$/,
  );
  const any = {
    config: configOf({ durability: 'any' }),
    inspection: { ...soundInspection, weakSettings: ['fsync is off'] },
  };
  assert.match((await findingsOf('durability', any)).join(), /^warning: fsync is off: .* as --durability any allows$/);
  assert.match((await at('disk', { freeBytes: 1_000_000 })).join(), /^fault: 1\.0 MiB free; free disk space/);
  assert.match(
    (await at('disk', { sizeBytes: 20 * 1_024 ** 3 })).join(),
    /^warning: 10240\.0 MiB free, too little for a backup/,
  );
  assert.deepEqual(await at('disk', {}), ['ok: 10240.0 MiB free']);
  assert.deepEqual(await at('disk', { freeBytes: undefined }), []);
  assert.match(
    (await at('clocks', { clockAheadMs: -5_000 })).join(),
    /^warning: the database is 5000 ms behind this machine/,
  );
  assert.deepEqual(await at('clocks', { clockAheadMs: 12 }), ['ok: this machine and the database: 12 ms apart']);
  assert.match((await at('service', { isServiceRunning: true })).join(), /^ok: running on the database/);
});

test('doctor checks the clock: a plausible year and no jumps', async () => {
  const clock = createTestClock(Date.UTC(1970, 0, 1));
  assert.match((await findingsOf('time', { clock })).join(), /^fault: the clock of this machine says 1970; set it/);
  let jump = 0;
  const jumping = {
    ...systemClock,
    now: () => Date.UTC(2027, 0, 1) + jump,
    monotonic: () => 0,
    after(_: number, run: () => void) {
      jump = 60_000;
      run();
      return () => undefined;
    },
  };
  assert.match(
    (await findingsOf('time', { clock: jumping })).join(),
    /^warning: the clock jumped by 60000 ms just now/,
  );
  assert.match((await findingsOf('time', {})).join(), /^ok: 2\d{3}-.*, and steady$/);
});

test('doctor checks DNS, and an unreachable network does not crash it', async () => {
  const resolving = (failure: 'no_such_name' | 'resolver_silent') =>
    findingsOf('egress', { resolve: async () => ({ failure }) });
  assert.deepEqual(await findingsOf('egress', {}), ['ok: names resolve (example.com)']);
  assert.match((await resolving('resolver_silent')).join(), /^warning: no DNS resolver answers: /);
  assert.match((await resolving('no_such_name')).join(), /^warning: example\.com does not resolve: /);
  assert.deepEqual(await findingsOf('egress', { resolve: undefined }), ['ok: not checked, because of --offline']);
});

for (const { test, name, database, testService } of everyStore) {
  const look = async (address: string) => {
    const parsed = parseDatabaseUrl(address);
    if ('fault' in parsed) throw new Error(parsed.fault);
    return inspectDatabase(parsed.value, systemClock.now);
  };

  test('doctor finds no faults in a sound database, shows whether a service runs on it, and changes nothing', async (t) => {
    const address = await database(t);
    const empty = await look(address);
    assert.equal(name === 'SQLite' ? empty : empty?.schemaVersion, name === 'SQLite' ? undefined : 0, 'it makes none');
    await empty?.close();

    const carillon = await testService(t, { database: address });
    const owner = await carillon.createAccount('acme.test');
    await owner.carillon.events.create({ event_name: 'Launch', start_date: '20270101', due_date: '20270102' });
    const served = await look(address);
    assert.ok(served !== undefined);
    assert.equal(served.isServiceRunning, true);
    assert.deepEqual(
      [served.schemaVersion, served.newestSchemaVersion, served.integrityErrors, served.locationProblems],
      [newestSchemaVersion, newestSchemaVersion, [], []],
    );
    assert.ok(served.sizeBytes > 100_000);
    const findings = await checkInstallation({
      config: configOf({}),
      unknownVariableNames: [],
      inspection: served,
      clock: systemClock,
      resolve: undefined,
    });
    const wrong = findings.filter(({ state, check }) => state !== 'ok' && check !== 'durability');
    assert.deepEqual(wrong, []);
    await served.close();
    await carillon.stop();
    const after = await look(address);
    assert.equal(after?.isServiceRunning, false);
    await after?.close();
  });

  test('C16 doctor finds an occurrence without its record, and one in the future', async (t) => {
    const address = await database(t);
    const store = await openStoreAt(t, address);
    await store.write(async (tx) => {
      await createAccount(tx, { domain: 'acme.test', email: 'owner@acme.test' }, systemClock.now(), systemRandom);
      const occurrence = { account_id: 1, user_id: 1, kind: 'new_event' };
      const rows = [
        { ...occurrence, position: 1, record_id: 7, occurred_at: 0 },
        { ...occurrence, position: 2, record_id: 8, occurred_at: 0 },
        { ...occurrence, position: 3, record_id: 8, occurred_at: 0, kind: 'deleted_event' },
        { ...occurrence, position: 4, record_id: 1, occurred_at: systemClock.now() + 3_600_000, kind: 'new_user' },
      ];
      await tx.queries.insertInto('occurrences').values(rows).execute();
    });
    await store.close();
    const inspection = await look(address);
    assert.ok(inspection !== undefined);
    t.after(() => inspection.close());
    const at = (check: string) => findingsOf(check, { inspection });
    assert.match((await at('integrity')).join(), /^fault: 1 occurrences have no record: /);
    assert.match((await at('clock')).join(), /^fault: the newest occurrence is 3\d{3} s in the future: /);
  });
}
