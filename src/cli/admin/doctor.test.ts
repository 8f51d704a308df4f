import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { startMailBox } from '../../../test/kit/network/mail.ts';
import { startTarget } from '../../../test/kit/network/target.ts';
import { carillon, serve } from '../../../test/kit/service/command.ts';
import { temporaryFolder } from '../../../test/kit/service/service.ts';

/** With this base URL the service is not a loopback service, so loopback targets are forbidden like private addresses. */
const PUBLIC = { CARILLON_BASE_URL: 'https://calendar.example' };

/** The address on which a service listens, from its log. */
async function whereItListens({ logged }: Awaited<ReturnType<typeof serve>>): Promise<string> {
  const said = () =>
    logged()
      .map(parsed)
      .find(({ event }) => event === 'started')?.url;
  return String(await eventually(said, (url) => url !== undefined));
}

test('C11 doctor target prints the address and the setting that allows it; with that setting the target is notified', async (t) => {
  const target = await startTarget(t);
  const url = target.at('/hook');
  const { host } = new URL(url);
  const refused = await carillon(['doctor', 'target', url], { environment: PUBLIC });
  assert.equal(refused.code, 1);
  assert.equal(refused.stdout, '');
  assert.equal(refused.faults.length, 1);
  const [, address, name = '', value = ''] =
    /^forbidden: (\S+) is not a public address; .* (CARILLON_\w+)=(\S+)$/.exec(refused.faults[0] ?? '') ?? [];
  assert.equal(address, '127.0.0.1');
  assert.deepEqual([name, value], ['CARILLON_ALLOW_TARGETS', host.replace(':', '/32:')]);

  const allowed = await carillon(['doctor', 'target', url], { environment: { ...PUBLIC, [name]: value } });
  assert.deepEqual(allowed, { code: 0, stdout: 'allowed: 127.0.0.1\n', faults: [] });

  const started = await serve(t, [], { cwd: temporaryFolder(t), environment: { ...PUBLIC, [name]: value } });
  const listening = await whereItListens(started);
  const auth = apiKey({ domain: String(started.said('domain')), key: String(started.said('key')) });
  const owner = new Carillon({ baseUrl: listening, auth });
  await owner.hooks.create({ target_url: url, event: 'new_client' });
  const { client_id } = await owner.clients.create({ client_name: 'ACME' });
  const [told] = await target.arrived(1);
  assert.equal(told?.resourceUrl, `https://calendar.example/v2/clients/${client_id}`);

  // The setting allows only this port of this address.
  const beside = 'http://127.0.0.1:1/hook';
  await assert.rejects(owner.hooks.create({ target_url: beside, event: 'new_client' }), { code: 'invalid_input' });
});

test('C11 without the setting the service rejects the same target, with one word to the caller', async (t) => {
  const started = await serve(t, [], { cwd: temporaryFolder(t), environment: PUBLIC });
  const listening = await whereItListens(started);
  const auth = apiKey({ domain: String(started.said('domain')), key: String(started.said('key')) });
  const owner = new Carillon({ baseUrl: listening, auth });
  await assert.rejects(owner.hooks.create({ target_url: 'http://127.0.0.1:9/hook', event: 'new_client' }), {
    code: 'invalid_input',
    errors: [{ field: 'target_url', message: 'forbidden' }],
  });
  // The explanation is in the operator's log and not in the response.
  const said = () =>
    started
      .logged()
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
  const { faults } = await carillon(['doctor', 'target', 'http://10.1.2.3:8080/x'], { environment });
  assert.match(faults.join('\n'), /CARILLON_ALLOW_TARGETS=intranet\.test,10\.1\.2\.3\/32:8080$/);
});

test('doctor target reports an invalid address or configuration', async () => {
  const mistakes: [string, Record<string, string>, string][] = [
    ['ftp://x', {}, 'The target must be an absolute http or https URL.'],
    ['http://user@10.0.0.1/', {}, 'The target must not contain a user name or password.'],
    ['http://10.0.0.1/', { CARILLON_PORT: 'x' }, 'CARILLON_PORT must be a whole number from 0 to 65535.'],
  ];
  const ended = await Promise.all(
    mistakes.map(([url, environment]) => carillon(['doctor', 'target', url], { environment })),
  );
  assert.deepEqual(
    ended.map(({ code, faults }) => [code, faults]),
    mistakes.map(([, , line]) => [1, [line]]),
  );
});

test('X10 doctor signs in to the mail server, and sends a mail only with --mail-to', async (t) => {
  const box = await startMailBox(t);
  const environment = (password: string) => ({
    CARILLON_SMTP_URL: `smtp://carillon:${password}@127.0.0.1:${box.port}`,
    CARILLON_MAIL_FROM: 'bells@acme.test',
  });
  const mailLine = async (password: string, ...more: string[]) => {
    const { stdout } = await carillon(['doctor', ...more], {
      environment: environment(password),
      cwd: temporaryFolder(t),
    });
    return stdout.split('\n').find((line) => / mail /.test(line)) ?? '';
  };
  const right = 'pass%3Aword%2F%231';
  assert.match(await mailLine(right), /^ok {7}mail +smtp:\/\/…@127\.0\.0\.1:\d+\?tls=off accepts the login$/);
  assert.match(await mailLine('wrong'), /^fault {4}mail .* accepts no mail: Invalid login: 535 .*; check --smtp-url/);
  assert.match(await mailLine(right, '--offline'), /not checked/);
  assert.equal(box.seen.length, 0);
  assert.match(
    await mailLine(right, '--host', '::1', '--mail-to', 'me@acme.test'),
    /^ok .* accepted a mail to me@acme\.test$/,
  );
  assert.deepEqual(
    box.taken.map(({ to, headers }) => [to, headers.get('subject')]),
    [['me@acme.test', 'Test mail from Carillon']],
  );
});

test('doctor prints one line per check, exits 0 without faults and 1 with one, and creates nothing', async (t) => {
  const cwd = temporaryFolder(t);
  const none = await carillon(['doctor', '--offline'], { cwd });
  assert.deepEqual([none.code, none.faults], [0, []]);
  assert.match(none.stdout, /^warning {2}database {7}none at sqlite:data\/carillon\.db yet/m);
  assert.deepEqual(readdirSync(cwd), []);

  await serve(t, [], { cwd });
  const running = await carillon(['doctor', '--offline', '--json'], { cwd });
  assert.equal(running.code, 0);
  const findings: { check: string; state: string; says: string }[] = JSON.parse(running.stdout);
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
  assert.match(findings.find(({ check }) => check === 'service')?.says ?? '', /^running on the database/);

  const wrong = await carillon(['doctor', '--offline', '--port', 'x'], { cwd, environment: { CARILLON_HOST: '::' } });
  assert.deepEqual([wrong.code, wrong.stdout.trim().split('\n').length], [1, 2]);
  const text = join(cwd, 'text.db');
  writeFileSync(text, 'Dear diary, today I was mistaken for a database. '.repeat(100));
  const torn = await carillon(['doctor', '--offline', '--database', `sqlite:${text}`], { cwd });
  assert.equal(torn.code, 1);
  assert.match(
    torn.stdout,
    /^fault {4}database {7}sqlite:.*text\.db cannot be reached: file is not a database; check/m,
  );
  const away = ['doctor', '--offline', '--database', 'postgres://nobody:secret@127.0.0.1:1/x'];
  const unreachable = await carillon(away, { cwd });
  assert.equal(unreachable.code, 1);
  assert.match(unreachable.stdout, /^fault {4}database {7}postgres:.* cannot be reached: .*ECONNREFUSED/m);
  assert.doesNotMatch(unreachable.stdout, /secret/);
});
