import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cleanEnvironment } from '../kit/environment.ts';
import { packPackage } from '../kit/service/packages.ts';
import { createTemporaryFolder, type Json } from '../kit/service/service.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const folder = createTemporaryFolder({ after });

/** The package is packed, and installed into an empty folder without a registry, with commander from this clone. */
const { tarball: chaosTarball, paths: chaosPaths } = await packPackage(join(root, 'packages/chaos-receiver'), folder);
const commander = await packPackage(join(root, 'node_modules/commander'), folder);
const installFolder = join(folder, 'newcomer');
mkdirSync(installFolder);
writeFileSync(join(installFolder, 'package.json'), '{"name":"newcomer","private":true,"type":"module"}');
const flags = ['install', '--offline', '--no-audit', '--no-fund', '--silent'];
await run('npm', [...flags, commander.tarball, chaosTarball], { cwd: installFolder, env: cleanEnvironment });
const program = join(installFolder, 'node_modules/.bin/carillon-chaos-receiver');

test('the package of the chaos receiver contains its program and documentation, and no tests', () => {
  for (const path of ['package.json', 'README.md', 'BEHAVIOURS.md', 'LICENSE', 'dist/main.js', 'dist/server.js'])
    assert.ok(chaosPaths.includes(path), path);
  const others = chaosPaths.filter(
    (path) => !/^dist\/(behaviours\/)?[\w-]+\.js$|^(package\.json|README\.md|BEHAVIOURS\.md|LICENSE)$/.test(path),
  );
  assert.deepEqual(others, []);
  assert.deepEqual(
    chaosPaths.filter((path) => path.includes('test')),
    [],
  );
});

test('the installed program lists its behaviors, prints the version of the service and receives requests', async (t) => {
  const env = { ...cleanEnvironment, PATH: `${join(process.execPath, '..')}:${cleanEnvironment.PATH}` };
  const { stdout } = await run(program, ['--list'], { env });
  assert.match(stdout, /^ {2}hang +failed +timeout +Reads/m);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  assert.equal((await run(program, ['--version'], { env })).stdout, `${version}\n`);

  const child = spawn(program, ['--port', '0', '--json'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const lines: AsyncIterator<string> = createInterface(child.stdout)[Symbol.asyncIterator]();
  const { listening }: Json = JSON.parse((await lines.next()).value);
  assert.equal((await fetch(`${listening}503`, { method: 'POST', body: '{}' })).status, 503);
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
});
