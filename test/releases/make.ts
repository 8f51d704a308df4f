import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { apiKey, Carillon } from '../../packages/sdk/src/index.ts';
import { eventually } from '../kit/eventually.ts';
import { startTarget } from '../kit/network/target.ts';
import { runCarillonJson } from '../kit/service/command.ts';
import { startProcess } from '../kit/service/service-process.ts';

/**
 * Fills a database through the API and the command line of this version, kills the service in the middle of its
 * work, and writes the database as SQL. Run once per release: `node test/releases/make.ts`. The result is a
 * fixture and is never changed.
 */

/** Placeholder for the URL of the target. Tests replace it with a real URL. */
const TARGET_PLACEHOLDER = 'http://target.invalid';

const folder = mkdtempSync(join(tmpdir(), 'carillon-release-'));
const path = join(folder, 'carillon.db');
const environment = { CARILLON_DATABASE: `sqlite:${path}` };
const cleanup: (() => unknown)[] = [];
const context = { after: (close: () => unknown) => void cleanup.push(close) };

const target = await startTarget(context, (response, { path: wanted }) => {
  if (wanted === '/hanging') return;
  response.writeHead(wanted === '/failing' ? 500 : wanted === '/refusing' ? 401 : 200).end();
});

const createAccount = (domain: string) =>
  runCarillonJson(['accounts', 'create', '--domain', domain, '--email', `owner@${domain}`], { environment });
const acme = await createAccount('acme.test');
const other = await createAccount('other.test');
const member = ['--domain', 'acme.test', '--email', 'member@acme.test'];
const { user_id } = await runCarillonJson(['users', 'create', ...member, '--role', 'member'], { environment });
const { key: memberKey } = await runCarillonJson(['keys', 'create', ...member], { environment });
const narrow = ['keys', 'create', ...member, '--permissions', 'events:read', '--label', 'narrow'];
const { key: narrowKey } = await runCarillonJson(narrow, { environment });
const revoked = await runCarillonJson(['keys', 'create', ...member, '--label', 'revoked'], { environment });
await runCarillonJson(['keys', 'revoke', '--domain', 'acme.test', '--id', revoked.id], { environment });

const service = await startProcess({ ...environment, CARILLON_PORT: '0' });
const clientOf = (domain: string, key: string) =>
  new Carillon({ baseUrl: service.baseUrl, auth: apiKey({ domain, key }) });
const owner = clientOf('acme.test', acme.key);
const day = { start_date: '20270101', due_date: '20270102' };

const hooks = {
  live: await owner.hooks.create({ target_url: target.urlOf('/live'), event: 'new_event' }),
  failing: await owner.hooks.create({ target_url: target.urlOf('/failing'), event: 'new_client' }),
  refusing: await owner.hooks.create({ target_url: target.urlOf('/refusing'), event: 'completed_task' }),
  hanging: await owner.hooks.create({ target_url: target.urlOf('/hanging'), event: 'new_task' }),
  deleted: await owner.hooks.create({ target_url: target.urlOf('/deleted'), event: 'new_project' }),
  others: await clientOf('other.test', other.key).hooks.create({
    target_url: target.urlOf('/others'),
    event: 'new_event',
  }),
};
await owner.hooks.delete(hooks.deleted.id);

const { client_id } = await owner.clients.create({ client_name: 'Ümit & Söhne 🛎️', email: 'c@acme.test' });
const { project_id } = await owner.projects.create({
  project_name: 'A project',
  client_id,
  users: [user_id],
  tags: 'a,b',
});
const { task_id } = await owner.tasks.create(project_id, { task_name: 'Done', users: [user_id] });
await owner.tasks.create(project_id, { task_name: 'Open' });
await owner.subtasks.create(task_id, { subtask_name: 'A subtask', users: [user_id] });
await owner.tasks.update(task_id, { completed: 1 });
for (const event_name of ['First', 'Second', 'To be deleted'])
  await owner.events.create({ event_name, ...day, project_id });
await clientOf('acme.test', memberKey).events.create({ event_name: "The member's", ...day });
await clientOf('other.test', other.key).events.create({ event_name: 'Of the other account', ...day });
const { data: events } = await owner.events.list();
const eventToDelete = events.find(({ event_name }) => event_name === 'To be deleted');
await owner.events.delete(eventToDelete?.event_id ?? '');

await eventually(
  async () => [await owner.hooks.get(hooks.refusing.id), await owner.hooks.get(hooks.failing.id)] as const,
  ([refusing, failing]) => refusing.state === 'ended' && failing.state === 'failing',
);
await eventually(
  () => owner.deliveries.list({ hook_id: hooks.live.id, state: 'delivered' }),
  ({ paging }) => paging.total_records === 3,
);
// Record an occurrence for an ended hook, and request a hook test to which the target does not respond.
await owner.tasks.update(task_id, { completed: 0 });
await owner.tasks.update(task_id, { completed: 1 });
await owner.hooks.test(hooks.hanging.id);
await eventually(
  () => target.received.filter((one) => one.path === '/hanging').length,
  (count) => count >= 1,
);
await service.stop('SIGKILL');

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const keys = {
  'acme.test': acme.key,
  'other.test': other.key,
  member: memberKey,
  narrow: narrowKey,
  revoked: revoked.key,
};
const file = fileURLToPath(new URL(`${version}.sql`, import.meta.url));
writeFileSync(file, dumpAsSql(path, { keys, hooks }).replaceAll(target.url, TARGET_PLACEHOLDER), { flag: 'wx' });
process.stdout.write(`${file}\n`);
for (const close of cleanup) await close();
rmSync(folder, { recursive: true, force: true });

/** Dumps a database as SQL. The first line is a comment with the keys and hooks as JSON. */
function dumpAsSql(of: string, metadata: object): string {
  const database = new DatabaseSync(of);
  const schema = database
    .prepare("select name, sql from sqlite_master where sql <> '' and name not like 'sqlite%'")
    .all();
  const rows = (table: string) =>
    database
      .prepare(`select * from ${table}`)
      .all()
      .map((row) => `insert into ${table} values (${Object.values(row).map(sqlLiteral).join(', ')});`);
  const tables = database
    .prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite%'")
    .all();
  const lines = [
    `-- ${JSON.stringify(metadata)}`,
    'pragma foreign_keys = off;',
    ...schema.map(({ sql }) => `${sql};`),
    ...tables.flatMap(({ name }) => rows(String(name))),
    'delete from sqlite_sequence;',
    ...rows('sqlite_sequence'),
  ];
  database.close();
  return `${lines.join('\n')}\n`;
}

function sqlLiteral(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`;
}
