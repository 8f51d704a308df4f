import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import type { HookInput } from '../../../packages/sdk/src/hooks.ts';
import { eventually } from '../../../test/kit/eventually.ts';
import { startTarget } from '../../../test/kit/network/target.ts';
import { runCarillon } from '../../../test/kit/service/command.ts';
import { type ApiUser, createTemporaryFolder, type TestService } from '../../../test/kit/service/service.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';
import { occurrenceKinds } from '../../delivery/outbox/event-kinds.ts';
import { addTriggerCommands } from '../client/trigger.ts';
import { CliError, Output } from '../output/screen.ts';
import { addResourceCommand } from './command.ts';

const { test } = sqlite;

/** Returns a function that runs a command in this process. It resolves with the output and the error lines. */
function commandRunner(service: TestService) {
  return async (person: ApiUser, args: readonly string[]) => {
    const [written, faults]: string[][] = [[], []];
    const screen = new Output({ write: (text) => written?.push(text) });
    const program = new Command('carillon').exitOverride();
    program.configureOutput({ outputError: (text) => faults?.push(text.trim().replace(/\s*\n\s*/g, ' ')) });
    if (args[0] === 'trigger') addTriggerCommands(program, screen);
    else addResourceCommand(program, args[0] ?? '', screen);
    const connection = ['--service', service.baseUrl, '--domain', person.domain, '--key', person.key];
    const ended = await program.parseAsync([...args, ...connection], { from: 'user' }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof CliError) faults?.push(...error.lines);
        return false;
      },
    );
    return { ended, stdout: written?.join('') ?? '', faults: faults ?? [] };
  };
}

test('records are listed, shown, created, changed, completed and deleted, with lines and JSON as output', async (t) => {
  const service = await sqlite.testService(t);
  const owner = await service.createAccount('acme.test');
  const run = commandRunner(service);
  const command = (args: string) => run(owner, args.split(' '));
  const json = async (args: string) => {
    const { ended, stdout, faults } = await command(`${args} --json`);
    assert.ok(ended, faults.join());
    return JSON.parse(stdout);
  };

  // The fields of a record come from flags, from a body on standard input or from a file. Flags override the body.
  const { project_id } = await json('projects create --project-name Release');
  const task = await json(`tasks create ${project_id} --task-name=Write --due-date 20270301 --important`);
  assert.deepEqual(task, await owner.carillon.tasks.get(task.task_id));
  assert.equal(task.important, '1');
  const member = await service.createUser(owner, 'member');
  const environment = {
    CARILLON_SERVICE: service.baseUrl,
    CARILLON_DOMAIN: 'acme.test',
    CARILLON_KEY: owner.key,
    XDG_CONFIG_HOME: createTemporaryFolder(t),
  };
  const input = JSON.stringify({ task_name: 'Read', progress: 5 });
  const users = `${member.userId},${owner.userId}`;
  const piped = ['tasks', 'create', project_id, '-', '--users', users, '--progress', '7', '--json'];
  const second = JSON.parse((await runCarillon(piped, { environment, input })).stdout);
  assert.deepEqual([second.task_name, second.progress, second.users.length], ['Read', '7', 2]);
  const file = join(environment.XDG_CONFIG_HOME, 'changes.json');
  writeFileSync(file, '{"notes":"from a file"}');
  const [changed, completed] = [await json(`tasks update 2 ${file}`), await json('tasks complete 1')];
  assert.deepEqual([changed.notes, completed.completed], ['from a file', '1']);

  for (let index = 0; index < 5; index += 1) await owner.carillon.clients.create({ client_name: `Client ${index}` });
  const [table, limited, lines, filtered, chosen, one, deleted, user, feed] = await Promise.all([
    command('tasks list'),
    json('clients list --limit 2 --offset 1'),
    command('clients list --jsonl'),
    json('tasks list --status open'),
    command('tasks list --columns progress,task_name --limit 1'),
    command('clients show 3'),
    command('clients delete 5'),
    json('user'),
    json('notifications --kind new_task'),
  ]);
  assert.match(table.stdout, /^TASK_ID {2}TASK_NAME {2}.*DUE_DATE.*\n1 {8}Write {6}.*2027-03-01.*\n2 {8}Read {7}.*\n$/);
  assert.deepEqual(
    limited.map(({ client_id }: { client_id: string }) => client_id),
    ['2', '3'],
  );
  assert.deepEqual(
    lines.stdout
      .split('\n')
      .map((line) => line.slice(0, 14))
      .filter(Boolean).length,
    5,
  );
  assert.deepEqual([filtered.length, filtered[0].task_id], [1, '2']);
  assert.equal(chosen.stdout, 'PROGRESS  TASK_NAME\n0         Write\n');
  assert.match(one.stdout, /^client_id +3\nclient_name +Client 2\n/);
  assert.deepEqual([deleted.stdout, user.email, feed.length], ['deleted: clients 5\n', 'owner@acme.test', 2]);

  // Error messages name the invalid flags.
  const reader = await service.createKey(owner, { permissions: ['tasks:read'] });
  const mistakes: [string, RegExp[], ApiUser?][] = [
    [
      'tasks update 2 --due-date 20260230 --progress 101',
      [/^--due-date must be a real calendar day/, /^--progress must be a whole number from 0 to 100\.$/],
    ],
    ['tasks show 99', [/^tasks: not found: task_id 99 \(404 not_found\)\.$/]],
    ['tasks show ../users', [/^task_id must be digits; \.\.\/users is not one\.$/]],
    ['tasks list --status nothing', [/^--status must be one of open, /]],
    ['tasks list --limit 0', [/^--limit must be a whole number of at least 1\.$/]],
    ['tasks list --columns nothing', [/^--columns: nothing is not one of task_id, /]],
    ['tasks delete 2', [/^This key lacks the permission tasks:write\. \(401 not_permitted\)$/], reader],
    ['tasks list', [/rejects this key for acme\.test \(401; from --key\)\.$/], { ...owner, key: 'carillon_no' }],
    ['tasks list --project_id 3', [/^error: unknown option '--project_id' \(Did you mean --project-id\?\)$/]],
  ];
  for (const [args, lines, person = owner] of mistakes) {
    const { ended, stdout, faults } = await run(person, args.split(' '));
    assert.deepEqual([ended, stdout, faults.length], [false, '', lines.length], faults.join());
    for (const [index, line] of lines.entries()) assert.match(faults[index] ?? '', line);
  }
});

test('trigger creates a real record for each kind, with its parents, and prints the notified hooks', async (t) => {
  const service = await sqlite.testService(t);
  const owner = await service.createAccount('acme.test');
  const run = commandRunner(service);
  const trigger = async (...args: string[]) => {
    const { ended, stdout, faults } = await run(owner, ['trigger', ...args, '--json']);
    assert.ok(ended, faults.join());
    return JSON.parse(stdout);
  };
  const hook = await owner.carillon.hooks.create({ target_url: 'http://127.0.0.1:1/bell', event: 'completed_task' });

  const task = await trigger('completed_task', '--task-name', 'Ring');
  assert.deepEqual(
    task.created.map(({ resource, id, name }: Record<string, string>) => [resource, id, name]),
    [
      ['project', '1', 'Triggered project'],
      ['task', '1', 'Ring'],
    ],
  );
  assert.deepEqual(
    task.hooks.map(({ id }: { id: string }) => id),
    [hook.id],
  );
  assert.equal((await owner.carillon.tasks.get(1)).completed, '1');
  assert.equal(task.created[1].resource_url, `${service.baseUrl}/v2/tasks/1`);

  const others = ['completed_subtask', 'new_client', 'new_event', 'new_project', 'new_subtask', 'new_task'];
  const made = others.map((kind) => {
    const parent = kind.includes('subtask') ? ['--task-id', '1'] : kind === 'new_task' ? ['--project-id', '1'] : [];
    return trigger(kind, ...parent);
  });
  const { data } = await Promise.all(made).then(() => owner.carillon.notifications.list());
  for (const { kind, created: records, hooks } of await Promise.all(made)) {
    assert.deepEqual([records.length, hooks], [1, []], kind);
    const happened = data.some((one) => one.kind === kind && one.resource_url === records[0].resource_url);
    assert.ok(happened, kind);
  }
});

test('X11 trigger causes an occurrence of every kind but changed_comment, and names the hooks that report it', async (t) => {
  const service = await sqlite.testService(t);
  const owner = await service.createAccount('acme.test');
  const run = commandRunner(service);
  const target = await startTarget(t);
  const createHook = async (path: string, settings: Omit<HookInput, 'target_url'>) =>
    (await owner.carillon.hooks.create({ target_url: target.urlOf(`/${path}`), ...settings })).id;
  const { project_id } = await owner.carillon.projects.create({ project_name: 'P' });
  const all = await createHook('all', { events: ['*'], scope: 'account' });
  const changes = await createHook('changes', { events: ['changed_task', 'deleted_task'], enabled: 0 });
  const inProject = await createHook('project', { events: ['*'], scope: 'project', project_id });

  const kinds = occurrenceKinds.filter((kind) => kind !== 'changed_comment');
  const failures: string[] = [];
  for (const kind of kinds) {
    const { stdout, faults } = await run(owner, ['trigger', kind, '--json']);
    if (faults.length > 0) failures.push(`${kind}: ${faults}`);
    const { created, hooks } = JSON.parse(stdout);
    const feed = await owner.carillon.notifications.list({ kind });
    const { resource_url } = created.at(-1);
    if (!feed.data.some((entry) => entry.resource_url === resource_url)) failures.push(`${kind}: ${resource_url}`);
    const isChange = kind === 'changed_task' || kind === 'deleted_task';
    const hooksAndStates = hooks.map(({ id, state }: Record<string, string>) => `${id} ${state}`);
    assert.deepEqual(hooksAndStates, [`${all} live`, ...(isChange ? [`${changes} disabled`] : [])], kind);
  }
  assert.deepEqual(failures, []);
  const { stdout } = await run(owner, ['trigger', 'changed_task', '--project-id', project_id, '--task-name', 'Mine']);
  assert.match(stdout, new RegExp(`^notified: hook ${inProject} \\(live\\)`, 'm'));
  const { faults } = await run(owner, ['trigger', 'changed_comment']);
  assert.match(faults.join(), /unknown command|too many arguments|unknown option/);
});

test('X11 trigger names the hooks that got the delivery, of all users whose hooks the key may read', async (t) => {
  const service = await sqlite.testService(t);
  const owner = await service.createAccount('acme.test');
  const member = await service.createUser(owner, 'member');
  const run = commandRunner(service);
  const target = await startTarget(t);
  const createHook = async ({ carillon }: ApiUser, path: string, settings: Omit<HookInput, 'target_url'>) =>
    (await carillon.hooks.create({ target_url: target.urlOf(`/${path}`), ...settings })).id;
  const limited = await service.createUser(owner, 'admin', ['hooks:read', 'hooks:write', 'events:read']);
  const events = ['new_task', 'changed_task'] as const;
  const ofOwner = await createHook(owner, 'owner', { events });
  const ofMember = await createHook(member, 'member', { events });
  await createHook(limited, 'account', { events: ['*'], scope: 'account' });
  const ofOtherAccount = await createHook(owner, 'account-2', { events, scope: 'account' });
  const { project_id } = await owner.carillon.projects.create({ project_name: 'P' });
  const trigger = async (who: ApiUser, ...args: string[]) => {
    const { ended, stdout, faults } = await run(who, ['trigger', ...args, '--project-id', project_id, '--json']);
    assert.ok(ended, faults.join());
    const { hooks, all_hooks } = JSON.parse(stdout);
    return [hooks.map(({ id }: { id: string }) => id).sort(), all_hooks];
  };
  // A new record is caused by its creator, a change by the caller. The hook for * of a key without tasks:read gets nothing.
  assert.deepEqual(await trigger(owner, 'new_task', '--user-id', member.userId), [[ofMember, ofOtherAccount], true]);
  assert.deepEqual(await trigger(owner, 'changed_task', '--user-id', member.userId), [[ofOwner, ofOtherAccount], true]);
  assert.deepEqual(await trigger(owner, 'new_task'), [[ofOwner, ofOtherAccount], true]);
  assert.deepEqual(await trigger(member, 'new_task'), [[ofMember], false]);
  const { stdout } = await run(member, ['trigger', 'new_client']);
  assert.match(
    stdout,
    /^notified: none of the hooks that this key may read; .*\nHooks of other users may be notified/m,
  );
});

test('X11 X13 hooks are created, changed and replayed with lists of events and with headers', async (t) => {
  const service = await sqlite.testService(t);
  const owner = await service.createAccount('acme.test');
  const run = commandRunner(service);
  const target = await startTarget(t);
  const json = async (...args: string[]) => {
    const { ended, stdout, faults } = await run(owner, ['hooks', ...args, '--json']);
    assert.ok(ended, faults.join());
    return JSON.parse(stdout);
  };
  const settings = ['--events', 'new_task,changed_task', '--scope', 'account', '--name', 'Ops'];
  const headers = ['--headers', 'X-Gateway: one:two ', '--headers', 'Authorization: Bearer hush'];
  const { id } = await json('create', '--target-url', target.url, ...settings, ...headers);
  const created = await owner.carillon.hooks.get(id);
  assert.deepEqual([created.events, created.scope, created.name], [['new_task', 'changed_task'], 'account', 'Ops']);
  const { project_id } = await owner.carillon.projects.create({ project_name: 'P' });
  await owner.carillon.tasks.create(project_id, { task_name: 'T' });
  const [received] = await target.waitForArrivals(1);
  assert.deepEqual([received?.headers['x-gateway'], received?.headers.authorization], ['one:two', 'Bearer hush']);
  await eventually(
    () => owner.carillon.deliveries.list({ state: 'delivered' }),
    ({ data }) => data.length === 1,
  );
  const replayed = await json('replay', id, '--from', '20200101', '--to', '2099-12-31 23:59:59');
  assert.deepEqual(replayed, { hook_id: id, deliveries: 1 });
  await target.waitForArrivals(2);

  const changed = await json('update', id, '--events', '*', '--scope', 'own', '--enabled', '0', '--headers', '');
  assert.deepEqual([changed.events, changed.scope, changed.enabled, changed.headers], [['*'], 'own', '0', []]);
  const scoped = await json('update', id, '--scope', 'project', '--project-id', project_id, '--enabled');
  assert.deepEqual([scoped.scope, scoped.project_id, scoped.enabled], ['project', project_id, '1']);
  const { stdout } = await run(owner, ['hooks', 'list', '--columns', 'id,events,scope,headers']);
  assert.equal(stdout, `ID  EVENTS  SCOPE    HEADERS\n${id}   *       project\n`);

  const mistakes: [string[], RegExp][] = [
    [['update', id, '--headers', 'hush'], /^--headers must be "name: value"\.$/],
    [['update', id, '--headers', 'Host: x'], /^--headers must not contain Host, which is reserved\.$/],
    [['update', id, '--events', 'new_thing'], /^--events must be a list of different event kinds/],
    [['update', id, '--scope', 'team'], /^--scope must be one of own, project, account\.$/],
    [['replay', id, '--from', 'x', '--to', '20200101'], /^--from must be /],
  ];
  for (const [args, line] of mistakes) {
    const { ended, faults } = await run(owner, ['hooks', ...args]);
    assert.equal(ended, false);
    assert.match(faults.join(), line);
  }
});
