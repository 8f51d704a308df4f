import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Hook } from '../../../packages/sdk/src/hooks.ts';
import { startTarget } from '../../../test/kit/network/target.ts';
import { runCarillon, runCarillonJson, serve } from '../../../test/kit/service/command.ts';
import { startScriptedSource } from '../../../test/kit/service/import-from-api.ts';
import { createTemporaryFolder } from '../../../test/kit/service/service.ts';
import { stores } from '../../../test/kit/service/stores.ts';
import { resourceTypes } from '../../import-from-api/resource-types.ts';
import { type FromApiFlags, readImportSettings } from './command.ts';

for (const { test: testOn, database, testService } of stores) {
  testOn(
    'a newcomer brings an old account: it stands beside the first one, with a key, a link, and how to make the hooks',
    async (t) => {
      const into = await database(t);
      const first = await serve(t, ['--database', into]);
      const there = await testService(t);
      const owner = await there.createAccount('old.test');
      const target = await startTarget(t);
      await owner.carillon.events.create({ event_name: 'Launch', start_date: '20270301', due_date: '20270302' });
      const { id } = await owner.carillon.hooks.create({ target_url: target.url, event: 'new_task' });
      await owner.carillon.hooks.create({ target_url: `${target.url}/it's`, event: 'new_event' });
      await owner.carillon.hooks.delete(id);

      const cwd = createTemporaryFolder(t);
      const from = ['import', '--from-api', `${there.baseUrl}/v2/`, '--domain', 'Old.test', '--database', into];
      const environment = { CARILLON_IMPORT_KEY: owner.key };
      const running = await runCarillon(from, { cwd, environment });
      assert.equal(running.code, 1);
      assert.match(running.stderrLines.at(-1) ?? '', /service is running/);
      assert.deepEqual(readdirSync(cwd), ['carillon-from-old.test.part']);
      await first.stop();

      const done = await runCarillon(from, { cwd, environment });
      assert.deepEqual([done.code, done.stderrLines], [0, []]);
      assert.match(
        done.stdout,
        /^domain: old\.test\nuser: \d+\nkey: carillon_\S+\nconsole: http:\S+\/#\/welcome\/\S+\n/,
      );
      assert.match(done.stdout, /^users: 1 of 1$/m);
      assert.match(done.stdout, /^events: 1 of 1$/m);
      const hooks = done.stdout.match(/^hook not created: .*$/gm);
      assert.deepEqual(hooks, [
        `hook not created: carillon hooks create --domain old.test --event 'new_event' --target-url '${target.url}/it'\\''s'`,
      ]);
      assert.match(done.stdout, /carillon users invite --domain old\.test --email owner@old\.test\n$/);
      assert.deepEqual(readdirSync(cwd), []);
      assert.equal(done.stdout.includes(owner.key), false);

      const again = await runCarillon(from, { cwd, environment });
      assert.match(again.stderrLines.join(), /The domain old\.test is taken in this database: --as-domain gives/);
      const second = await runCarillonJson(
        [...from, '--as-domain', 'new.test', '--hooks', '--key-file', keyFile(cwd, owner.key)],
        { cwd },
      );
      assert.deepEqual(second.records.events, {
        there: 1,
        queried: true,
        here: 1,
        left_out: 0,
        placeholders: 0,
        same: true,
      });
      assert.deepEqual([second.new_ids, second.missing], [['company', 'users', 'events'], {}]);
      assert.deepEqual(
        second.hooks.map(({ event, created }: { event: string; created: boolean }) => [event, created]),
        [['new_event', true]],
      );

      // After a write with the printed key, the service notifies the hook that --hooks created.
      const here = await serve(t, ['--database', into]);
      const headers = { key: second.key, domain: 'new.test', 'content-type': 'application/json' };
      const body = JSON.stringify({ event_name: 'x', start_date: '20270301', due_date: '20270301' });
      const made = await fetch(`${here.baseUrl}/v2/events`, { method: 'POST', headers, body });
      assert.equal(made.status, 201);
      const [notified] = await target.waitForArrivals(1);
      assert.equal(notified?.resourceUrl, made.headers.get('location'));
      const audit = await runCarillonJson(['audit', '--domain', 'new.test', '--database', into]);
      const entry = audit.find(({ action }: { action: string }) => action === 'account.imported');
      assert.deepEqual([entry.detail.from, entry.detail.events], [there.baseUrl, 1]);
    },
  );
}

test('X11 X13 hooks keep their kinds, name, scope and project; paused ones and ones with headers arrive disabled', async (t) => {
  const cwd = createTemporaryFolder(t);
  const into = `sqlite:${join(cwd, 'carillon.db')}`;
  const target = await startTarget(t);
  const owner = { user_id: '7', email: 'owner@old.test', role: 'owner' };
  const hook = (path: string, rest: object) => ({
    ...{ event: '', events: ['new_task', 'changed_task'], scope: 'own', project_id: '0', enabled: '1', headers: [] },
    ...{ name: '', target_url: `${target.url}/${path}`, state: 'live', ...rest },
  });
  const { base } = await startScriptedSource(t, {
    lists: {
      users: [owner],
      projects: [{ project_id: '30', user_id: '7', project_name: 'P' }],
      hooks: [
        hook('several', { name: "Plan's hook" }),
        hook('one', { event: 'deleted_task', events: ['deleted_task'] }),
        hook('paused', { enabled: '0' }),
        hook('headers', { headers: ['authorization', 'x-gateway'] }),
        hook('project', { events: ['*'], scope: 'project', project_id: '30' }),
        hook('gone', { scope: 'project', project_id: '31' }),
        hook('account', { scope: 'account' }),
        hook('ended', { state: 'ended' }),
      ],
    },
    singles: { user: owner },
  });
  const args = ['import', '--database', into, '--from-api', base, '--domain', 'old.test', '--key', 'k'];
  const printed = await runCarillon(args, { cwd });
  const create = 'carillon hooks create --domain old.test';
  const events = "--events 'new_task,changed_task'";
  const at = (path: string) => `--target-url '${target.url}/${path}'`;
  const missing = `no hook: new_task,changed_task ${target.url}/gone: its project 31 is none of the imported projects`;
  assert.deepEqual(printed.stdout.match(/^(no )?hook.*$/gm), [
    `hook not created: ${create} ${events} --name 'Plan'\\''s hook' ${at('several')}`,
    `hook not created: ${create} --events 'deleted_task' ${at('one')}`,
    `hook not created: ${create} ${events} --enabled '0' ${at('paused')}`,
    `hook not created (afterwards set its headers authorization, x-gateway, then enable it): ${create} ${events} --enabled '0' ${at('headers')}`,
    `hook not created: ${create} --events '*' --scope 'project' --project-id '30' ${at('project')}`,
    missing,
    `hook not created: ${create} ${events} --scope 'account' ${at('account')}`,
  ]);

  const files = ['--report', 'second.report', '--id-map', 'second.ids'];
  const created = await runCarillon([...args, '--as-domain', 'new.test', '--hooks', ...files], { cwd });
  assert.deepEqual(created.stdout.match(/^(no )?hook.*$/gm), [
    `hook: new_task,changed_task ${target.url}/several`,
    `hook: deleted_task ${target.url}/one`,
    `hook: new_task,changed_task ${target.url}/paused, disabled as at the source`,
    `hook: new_task,changed_task ${target.url}/headers, disabled: set its headers authorization, x-gateway, then enable it`,
    `hook: * ${target.url}/project`,
    missing,
    `hook: new_task,changed_task ${target.url}/account`,
  ]);
  const { baseUrl } = await serve(t, ['--database', into]);
  const headers = { key: /^key: (.*)$/m.exec(created.stdout)?.[1] ?? '', domain: 'new.test' };
  const list = async (path: string) => {
    const { data } = (await (await fetch(`${baseUrl}/v2/${path}`, { headers })).json()) as { data: Hook[] };
    return data;
  };
  const [project] = await list('projects');
  assert.notEqual(project?.project_id, '30');
  assert.deepEqual(
    (await list('hooks')).map(({ name, events, scope, project_id, enabled }) => [
      name,
      String(events),
      scope,
      project_id,
      enabled,
    ]),
    [
      ["Plan's hook", 'new_task,changed_task', 'own', '0', '1'],
      ['', 'deleted_task', 'own', '0', '1'],
      ['', 'new_task,changed_task', 'own', '0', '0'],
      ['', 'new_task,changed_task', 'own', '0', '0'],
      ['', '*', 'project', project?.project_id, '1'],
      ['', 'new_task,changed_task', 'account', '0', '1'],
    ],
  );
});

const FLAGS = { domain: 'old.test', key: 'secret-key' };
const BASE = 'https://calendar.test';

test('flags are parsed, and errors are one line that never contains the key', (t) => {
  const path = keyFile(createTemporaryFolder(t), 'from-file');
  const { sourceUrl, sourceDomain, domain, headers } = readImportSettings(
    `${BASE}/one/v2/`,
    { ...FLAGS, domain: ' Old.test' },
    {},
  );
  assert.deepEqual(
    [sourceUrl, sourceDomain, domain, headers.key],
    [`${BASE}/one`, 'old.test', 'old.test', 'secret-key'],
  );
  assert.match(headers['user-agent'], /^Carillon\/\d/);
  const variable = { CARILLON_IMPORT_KEY: 'from-environment' };
  assert.equal(readImportSettings(BASE, { domain: 'a.test' }, variable).headers.key, 'from-environment');
  assert.equal(readImportSettings(BASE, { domain: 'a.test', keyFile: path }, variable).headers.key, 'from-file');
  assert.equal(readImportSettings(BASE, FLAGS, variable).headers.key, 'secret-key');
  const clear = (address: string) => readImportSettings(address, FLAGS, {}).isUnencrypted;
  assert.deepEqual(['http://a.test', 'http://127.0.0.1:1', BASE].map(clear), [true, false, false]);

  const mistakes: [string, FromApiFlags, RegExp][] = [
    ['ftp://x', FLAGS, /^--from-api must be an http or https address without user name/],
    ['https://user:pass@x.test', FLAGS, /^--from-api must be an http or https address without user name/],
    [BASE, { key: 'secret-key' }, /^Give --domain with the account at the other service\.$/],
    [
      BASE,
      { domain: 'old.test' },
      /^Give the key of the other service with --key-file, CARILLON_IMPORT_KEY or --key\.$/,
    ],
    [BASE, { ...FLAGS, key: 'secret-key\nx' }, /^The key must be visible ASCII characters/],
    [BASE, { ...FLAGS, keyFile: 'x' }, /^--key and --key-file cannot be combined\.$/],
    [BASE, { domain: 'old.test', keyFile: '/nowhere/x' }, /^--key-file cannot be read: ENOENT/],
    [BASE, { ...FLAGS, rate: '0' }, /^--rate must be a whole number from 1 to 1000; 0 is not one\.$/],
    [BASE, { ...FLAGS, readings: '1.5' }, /^--readings must be a whole number from 1 to 100; 1\.5 is not one\.$/],
    [
      BASE,
      { ...FLAGS, work: 'a', idMap: './a.jsonl' },
      /^--work, --report and --id-map must be three different files\.$/,
    ],
    [BASE, { ...FLAGS, asDomain: 'a b' }, /^--as-domain must be a host name/],
    [BASE, { ...FLAGS, ownerEmail: 'nobody' }, /^--owner-email must be an e-mail address; nobody is not one\.$/],
  ];
  for (const [address, flags, message] of mistakes)
    assert.throws(
      () => readImportSettings(address, flags, {}),
      (error: Error) => message.test(error.message) && !error.message.includes('secret-key'),
      String(message),
    );
});

test('an invalid source, a rejected key and a work file of another source are errors in one line', async (t) => {
  const cwd = createTemporaryFolder(t);
  const into = `sqlite:${join(cwd, 'carillon.db')}`;
  const refuses = Object.fromEntries(resourceTypes.map(({ name }) => [name, 401]));
  const closed = await startScriptedSource(t, { lists: {}, singles: {}, errorStatuses: refuses });
  const empty = await startScriptedSource(t, { lists: {}, singles: {} });
  const mistakes: [string, string, RegExp][] = [
    [closed.base, 'a', /^The source accepts neither the key nor the domain: it returns 401 for everything\.$/],
    [empty.base, 'b', /^The source has no such API: it returns 404 for everything\./],
    [empty.base, 'a', /^a belongs to an import of old\.test from .*: give another file with --work\.$/],
  ];
  for (const [base, work, fault] of mistakes) {
    const args = ['import', '--database', into, '--from-api', base, '--domain', 'old.test', '--work', work];
    const { code, stdout, stderrLines } = await runCarillon([...args, '--key', 'secret-key'], { cwd });
    assert.deepEqual([code, stdout, stderrLines.length], [1, '', 1], stderrLines.join());
    assert.match(stderrLines[0] ?? '', fault);
  }
});

test('unreadable hooks of the source do not fail the import; a report of another run is not overwritten', async (t) => {
  const cwd = createTemporaryFolder(t);
  const owner = { user_id: '7', email: 'owner@old.test', role: 'owner' };
  const { base } = await startScriptedSource(t, {
    lists: { users: [owner] },
    singles: { user: owner },
    before(url, answer) {
      const isHooks = url.pathname === '/v2/hooks';
      if (isHooks) answer.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
      return isHooks;
    },
  });
  const into = `sqlite:${join(cwd, 'carillon.db')}`;
  const args = ['import', '--database', into, '--from-api', base, '--domain', 'old.test', '--json'];
  const environment = { CARILLON_IMPORT_KEY: 'secret-key' };
  const { code, stdout, stderrLines } = await runCarillon(args, { cwd, environment });
  assert.equal(code, 0, stderrLines.join());
  assert.match(JSON.parse(stdout).key, /^carillon_/);
  assert.match(stderrLines.join(), /\/v2\/hooks\S* returned something other than JSON/);
  const report = readFileSync(join(cwd, 'carillon-from-old.test.report.jsonl'), 'utf8');
  assert.match(report, /"resource":"users"/);
  const again = await runCarillon([...args, '--as-domain', 'new.test'], { cwd, environment });
  assert.equal(again.code, 1);
  assert.match(again.stderrLines.join(), /^carillon-from-old\.test\.report\.jsonl already exists: /);
  assert.equal(readFileSync(join(cwd, 'carillon-from-old.test.report.jsonl'), 'utf8'), report);
});

function keyFile(folder: string, key: string): string {
  const path = join(folder, 'key');
  writeFileSync(path, `${key}\n`, { mode: 0o600 });
  return path;
}
