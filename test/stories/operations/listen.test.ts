import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { atEnd } from '../../kit/cleanup.ts';
import { eventually } from '../../kit/eventually.ts';
import { runCarillon } from '../../kit/service/command.ts';
import { createLocalApp, startListening } from '../../kit/service/listening.ts';
import { createTemporaryFolder } from '../../kit/service/service.ts';
import { startProcess } from '../../kit/service/service-process.ts';
import { sqlite } from '../../kit/service/stores.ts';

const { test } = sqlite;
const event = (event_name: string) => ({ event_name, start_date: '20270301', due_date: '20270301' });

test('X2 listen resumes at its cursor after it is killed, while the service is down, and while the application is down', async (t) => {
  const database = await sqlite.database(t);
  const service = await sqlite.serviceProcess(t, { CARILLON_DATABASE: database });
  const { baseUrl, headers } = service;
  const { domain = '', key = '' } = headers;
  const environment = {
    CARILLON_SERVICE: baseUrl,
    CARILLON_DOMAIN: domain,
    CARILLON_KEY: key,
    XDG_STATE_HOME: createTemporaryFolder(t),
  };
  const app = await createLocalApp(t);
  const listen = () => startListening(t, ['--forward-to', app.url], environment);
  const { events } = service.carillon;
  const expected: string[] = [];
  const create = async (name: string) => {
    expected.push(`${baseUrl}/v2/events/${(await events.create(event(name))).event_id}`);
  };
  const arrived = (count: number) =>
    eventually(
      () => app.received.length,
      (received) => received >= count,
      15_000,
    );

  // Occurrences before the first start are not forwarded.
  await events.create(event('earlier'));
  let listening = await listen();
  await create('first');
  await arrived(1);

  // Kill the listener while the application handles the second event: whether it was handled is unknown.
  await eventually(
    () => listening.printedLines().length,
    (count) => count === 1,
  );
  app.answer = 'hang';
  await create('second');
  await arrived(2);
  assert.equal(await listening.end('SIGKILL'), null);
  await create('third');
  app.answer = 200;
  listening = await listen();
  await arrived(4);
  expected.splice(1, 0, expected[1] ?? '');
  assert.equal(app.received[1]?.id, app.received[2]?.id, 'the same Webhook-Id, so that a receiver knows it again');

  // Kill the service, and restart it at the same address.
  await service.stop('SIGKILL');
  await eventually(listening.stderrText, (text) => text.includes('does not answer'));
  const again = await startProcess({ CARILLON_DATABASE: database, CARILLON_PORT: new URL(baseUrl).port });
  atEnd(t, () => again.process.kill('SIGKILL'));
  await create('fourth');
  await arrived(5);
  assert.match(listening.stderrText(), /answers again/);

  // Stop the application, then let it fail, then let it work again.
  await app.stop();
  await create('fifth');
  await create('sixth');
  await eventually(listening.stderrText, (text) => text.includes('gave no answer: refused'));
  app.answer = 401;
  await app.start();
  await eventually(listening.stderrText, (text) => text.includes('In production a 401 ends the hook'));
  const refused = app.received.length;
  app.answer = 200;
  await eventually(
    () => listening.printedLines().length,
    (count) => count === 5,
    15_000,
  );

  const distinct = app.received.filter(({ id }, index) => app.received[index - 1]?.id !== id);
  assert.deepEqual(
    distinct.map(({ resourceUrl }) => resourceUrl),
    [...new Set(expected)],
    'each one, in order, and nothing else',
  );
  assert.ok(refused >= 6);
  const heard = listening.printedLines();
  assert.deepEqual(
    heard.map(({ record }) => record.event_name),
    ['second', 'third', 'fourth', 'fifth', 'sixth'],
  );
  for (const { kind, forwarded } of heard) assert.deepEqual([kind, forwarded.status], ['new_event', 200]);
  assert.ok(heard[3].forwarded.attempts > 2);

  // Ctrl-C ends the listener, and the next listener does not forward the same events again.
  assert.equal(await listening.end('SIGINT'), 0);
  listening = await listen();
  await create('seventh');
  await eventually(
    () => listening.printedLines().length,
    (count) => count === 1,
  );
  assert.equal(listening.printedLines()[0].record.event_name, 'seventh');
  assert.equal(await listening.end('SIGTERM'), 0);
});

test('X2 listen with an expired or unknown cursor reports what is missing and how to continue; it filters kinds and scope, and accepts any response', async (t) => {
  const service = await sqlite.testService(t);
  const owner = await service.createAccount('acme.test');
  const member = await service.createUser(owner, 'member');
  const folder = createTemporaryFolder(t);
  const environment = {
    CARILLON_SERVICE: service.baseUrl,
    CARILLON_DOMAIN: 'acme.test',
    CARILLON_KEY: owner.key,
    XDG_STATE_HOME: folder,
  };
  const listen = (...args: string[]) => runCarillon(['listen', ...args], { environment });
  const { clients, events } = owner.carillon;
  await clients.create({ client_name: 'A client' });
  await events.create(event('An event'));
  await member.carillon.events.create(event("A colleague's"));
  await service.store.write(({ queries }) => queries.deleteFrom('occurrences').where('position', '=', 1).execute());

  const tooOld = await listen('--after', '0');
  assert.equal(tooOld.code, 1);
  assert.match(
    tooOld.stderrLines[1] ?? '',
    /^Cannot continue after cursor 0: what happened between it and cursor 2 \(20.* UTC\) is no longer stored and was missed/,
  );
  assert.match(tooOld.stderrLines[2] ?? '', /^Continue with --from-oldest.*--from-now\./);
  const unknown = await listen('--after', '999');
  assert.match(unknown.stderrLines[1] ?? '', /restored from a backup or is a different one/);

  // With --once-each any response is accepted. Redirects are not followed.
  const app = await createLocalApp(t);
  app.answer = 302;
  const file = join(folder, 'mine.json');
  const args = ['--from-oldest', '--scope', 'account', '--kinds', 'new_event', '--once-each', '--cursor-file', file];
  const listening = await startListening(t, [...args, '--forward-to', app.url], environment);
  await eventually(
    () => listening.printedLines().length,
    (count) => count === 2,
  );
  assert.deepEqual(
    listening.printedLines().map(({ record, forwarded }) => [record.event_name, forwarded.status, forwarded.attempts]),
    [
      ['An event', 302, 1],
      ["A colleague's", 302, 1],
    ],
  );
  assert.equal(app.received.length, 2);
  assert.match(listening.stderrText(), /Redirects are not followed/);
  await eventually(
    () => JSON.parse(readFileSync(file, 'utf8')).cursor,
    (cursor) => cursor === '3',
  );
  await listening.end('SIGINT');

  // All kinds of one project, whose changes other users make.
  const { project_id } = await owner.carillon.projects.create({ project_name: 'P' });
  const task = await member.carillon.tasks.create(project_id, { task_name: 'T' });
  await member.carillon.tasks.update(task.task_id, { notes: 'N' });
  await member.carillon.tasks.delete(task.task_id);
  await events.create(event('Elsewhere'));
  app.answer = 200;
  const inProject = ['--from-oldest', '--scope', 'project', '--project', project_id, '--events', '*'];
  const wide = await startListening(t, [...inProject, '--forward-to', app.url], environment);
  await eventually(
    () => wide.printedLines().length,
    (count) => count === 4,
  );
  assert.deepEqual(
    wide.printedLines().map(({ kind, fields, record }) => [kind, fields.join(), record?.project_name]),
    [
      ['new_project', '', 'P'],
      ['new_task', '', undefined],
      ['changed_task', 'notes', undefined],
      ['deleted_task', '', undefined],
    ],
  );
  await wide.end('SIGINT');

  const otherListener = await runCarillon(['listen', '--cursor-file', file], {
    environment: { ...environment, CARILLON_KEY: member.key },
  });
  const errorMessage = `${file} belongs to another listener (user_id ${owner.userId}): give another file.`;
  assert.deepEqual(otherListener.stderrLines, [errorMessage]);
});
