import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createProgram } from '../../../src/cli/commands.ts';
import { type CommandBlock, commandModes, documentedCommands, inlineCommands } from '../../documents/reference.ts';
import { newPostgresDatabase } from '../../kit/database/postgres-databases.ts';
import { cleanEnvironment } from '../../kit/environment.ts';
import { createTemporaryFolder } from '../../kit/service/service.ts';
import type { ServiceProcess } from '../../kit/service/service-process.ts';
import { sqlite } from '../../kit/service/stores.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);

const commandBlocks = documentedCommands();

/** The environment of a page: a folder, and a service on the default database of the commands. */
type Fixture = { readonly folder: string; readonly service: ServiceProcess; readonly env: NodeJS.ProcessEnv };

/** Replacements for names in a document that do not exist on this machine. */
type Replacements = Readonly<Record<string, string>>;

async function startFixture(t: TestContext): Promise<Fixture> {
  const folder = createTemporaryFolder(t);
  const bin = join(folder, 'bin');
  for (const name of [bin, join(folder, 'data'), join(folder, 'elsewhere')]) mkdirSync(name);
  const commands = {
    carillon: 'exec node "$ROOT/src/main.ts" "$@"',
    npx: 'if [ "$1" = carillon ]; then shift; exec carillon "$@"; fi; echo "npx $*" >&2; exit 64',
    // A reader runs npm in the clone, where data/ is. The test runs it in the folder of the page, which contains data/.
    npm: 'if [ "$1 $2 $3 $4" = "run -s carillon --" ]; then shift 4; exec carillon "$@"; fi; echo "npm $*" >&2; exit 64',
    // With `--fail-with-body`, an error response fails the test.
    curl: 'exec "$CURL" --fail-with-body -sS "$@"',
  };
  for (const [name, script] of Object.entries(commands)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const service = await sqlite.serviceProcess(t, { CARILLON_DATABASE: `sqlite:${join(folder, 'data/carillon.db')}` });
  const { baseUrl, domain, key } = service;
  const hook = await service.carillon.hooks.create({ target_url: 'http://127.0.0.1:9/bell', event: 'new_client' });
  const { stdout: curl } = await run('sh', ['-c', 'command -v curl']);
  const env = {
    ...cleanEnvironment,
    NODE_OPTIONS: process.env.NODE_OPTIONS,
    PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: folder,
    ROOT: root,
    CURL: curl.trim(),
    ...{ URL: baseUrl, DOMAIN: domain, KEY: key, HOOK: hook.id },
    ...{ CARILLON_SERVICE: baseUrl, CARILLON_DOMAIN: domain, CARILLON_KEY: key },
  };
  return { folder, service, env };
}

async function addAccount({ folder: cwd, env }: Fixture, domain: string): Promise<void> {
  await run('carillon', ['accounts', 'create', '--domain', domain, '--email', `owner@${domain}`], { cwd, env });
}

async function replacementsFor(t: TestContext, { folder, service }: Fixture, script: string): Promise<Replacements> {
  const database = 'postgres://carillon@db.internal/carillon';
  return {
    '/somewhere/else': join(folder, 'elsewhere'),
    'http://127.0.0.1:8080': service.baseUrl,
    ...(script.includes(database) ? { [database]: await newPostgresDatabase(t) } : {}),
  };
}

async function runBlock(t: TestContext, fixture: Fixture, { path, line, way, script }: CommandBlock): Promise<void> {
  if (way === 'stopped') {
    const exited = once(fixture.service.process, 'exit');
    if (fixture.service.process.kill('SIGTERM')) await exited;
  }
  let text = script;
  for (const [original, replacement] of Object.entries(await replacementsFor(t, fixture, script)))
    text = text.replaceAll(original, replacement);
  const { folder: cwd, env } = fixture;
  if (way === 'stays') return runUntilInterrupted(text, { cwd, env });
  await assert.doesNotReject(
    run('bash', ['-euo', 'pipefail', '-c', text], { cwd, env, timeout: 60_000 }),
    `${path}:${line}\n${text}`,
  );
}

/** Runs a command until its first output, then ends it with SIGINT. */
async function runUntilInterrupted(text: string, where: { cwd: string; env: NodeJS.ProcessEnv }): Promise<void> {
  const child = spawn('bash', ['-c', `exec ${text.trim()}`], { ...where, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), exited]);
  child.kill('SIGINT');
  assert.deepEqual(await exited, [0, null], text);
}

/** Whether a separate test reads this page. */
function isReadByTest(path: string): boolean {
  const name = path.split('/').at(-1) ?? '';
  const folders = ['test/stories', 'test/packages', 'test/kit'].map((folder) => join(root, folder));
  const files = folders.flatMap((folder) => globSync(`${folder}/**/*.ts`));
  return files.some((file) => readFileSync(file, 'utf8').includes(`/${name}'`));
}

const isRun = ({ way }: CommandBlock) => way === '' || way === 'stopped' || way === 'stays';

for (const [path, blocks] of Map.groupBy(commandBlocks.filter(isRun), (block) => block.path)) {
  test(`the commands of ${path} succeed one after the other, unchanged`, async (t) => {
    const fixture = await startFixture(t);
    // The commands use the account acme.test, except on pages that create an account themselves.
    if (!blocks.some(({ script }) => script.includes('accounts create'))) await addAccount(fixture, 'acme.test');
    for (const block of blocks) await runBlock(t, fixture, block);
  });
}

test('every block of commands is marked with how it is tested, and untested ones are valid shell', async () => {
  assert.ok(commandBlocks.length > 20);
  for (const { path, line, way, script } of commandBlocks) {
    const where = `${path}:${line}`;
    if (way === 'story') assert.ok(isReadByTest(path), `${where}: no test reads it`);
    assert.ok(
      commandModes.some((one) => one === way),
      where,
    );
    await assert.doesNotReject(run('bash', ['-n', '-c', script]), where);
  }
  const unrunPages = commandBlocks.filter(({ way }) => way === 'machine').map(({ path }) => path);
  assert.deepEqual([...new Set(unrunPages)].sort(), ['docs/moving.md', 'docs/operating.md', 'docs/running.md']);
});

const program = await createProgram(() => true);

/** Returns the unknown commands of a command line, and the unknown flags of its last command. */
function unknownIn(line: string): string[] {
  const words = line.split(/ (?:[|<>]|#) /)[0]?.split(/[ =]+/) ?? [];
  let command = program;
  let unknown: string[] = [];
  for (const word of words.filter((one) => /^[a-z][a-z-]*$/.test(one))) {
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined && command === program) unknown = [word];
    if (next === undefined) break;
    command = next;
  }
  const flags = words.filter((word) => word.startsWith('--') && !['--help', '--version'].includes(word));
  return [...unknown, ...flags.filter((flag) => !command.options.some(({ long }) => long === flag))];
}

test('commands and flags named in sentences of the documentation exist', () => {
  assert.deepEqual(unknownIn('events lst --limit 3 --no'), ['--limit', '--no']);
  assert.deepEqual(unknownIn('lsten --kinds x'), ['lsten', '--kinds']);
  const named = inlineCommands();
  assert.ok(named.length > 20);
  for (const { path, line } of named) assert.deepEqual(unknownIn(line), [], `${path}: carillon ${line}`);
});
