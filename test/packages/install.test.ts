import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cleanEnvironment } from '../kit/environment.ts';
import { findFreePort } from '../kit/network/port.ts';
import { buildDockerfile, isInBuildContext } from '../kit/service/dockerfile.ts';
import { createTemporaryFolder, type Json } from '../kit/service/service.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
const dockerignore = readFileSync(join(root, '.dockerignore'), 'utf8');

/** The user id of the service if the test runs as root; an unprivileged user. */
const UNPRIVILEGED_UID = 65_534;
const serviceUid = process.getuid?.() === 0 ? UNPRIVILEGED_UID : undefined;

/** The environment of the image. Its PATH has no binaries of this repository or of the npm that runs this test. */
const environment = {
  ...cleanEnvironment,
  PATH: [join(process.execPath, '..'), ...(process.env.PATH ?? '').split(delimiter)]
    .filter((path) => !path.includes('node_modules/.bin'))
    .join(delimiter),
  npm_config_prefer_offline: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
};

const filesBelow = (folder: string) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

test('the steps of the Dockerfile make a service that runs as an unprivileged user, becomes ready, writes only to /data and stops on SIGTERM', async (t) => {
  const folder = createTemporaryFolder(t);
  chmodSync(folder, 0o755);
  const image = await buildDockerfile(dockerfile, {
    context: root,
    ignore: dockerignore,
    folder,
    environment,
    owner: serviceUid,
  });
  assert.equal(image.user, 'node');
  assert.equal(image.exposed, image.environment.CARILLON_PORT);
  for (const absent of ['node_modules/typescript', 'node_modules/.bin/node', 'test', 'src', 'console/src'])
    assert.ok(!filesBelow(join(image.root, 'app')).includes(absent), absent);

  // Copy Node, because the unprivileged user may have no access to the original.
  const node = join(folder, 'node');
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  const before = filesBelow(join(image.root, 'app'));
  const toImagePath = (word: string) => (word === 'node' ? node : word.replace(/^\/app/, join(image.root, 'app')));
  const port = await findFreePort();
  const options = {
    env: {
      ...image.environment,
      CARILLON_DATABASE: (image.environment.CARILLON_DATABASE ?? '').replace('/data', join(image.root, 'data')),
      CARILLON_PORT: String(port),
      CARILLON_BASE_URL: `http://127.0.0.1:${port}`,
    },
    cwd: join(image.root, image.workdir),
    ...(serviceUid === undefined ? {} : { uid: serviceUid, gid: serviceUid }),
  };
  const start = ([program = '', ...args]: readonly string[], stderr: 'inherit' | 'ignore') =>
    spawn(toImagePath(program), args.map(toImagePath), { ...options, stdio: ['ignore', 'pipe', stderr] });

  const check = start(image.healthcheck, 'inherit');
  assert.deepEqual(await once(check, 'exit'), [1, null], 'unhealthy while nothing runs');
  const service = start(image.command, 'ignore');
  t.after(() => service.kill('SIGKILL'));
  const exited = once(service, 'exit');
  const [greeting] = await once(service.stdout, 'data');
  assert.match(String(greeting), /^console: http:\/\/127\.0\.0\.1:\d+\/#\/welcome\/[\w-]{43}\ndomain: /);
  assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);
  const page = await fetch(`http://127.0.0.1:${port}/`, { headers: { accept: 'text/html' } });
  assert.match(await page.text(), /<div id="app">/);
  assert.deepEqual(await once(start(image.healthcheck, 'inherit'), 'exit'), [0, null]);
  service.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);

  assert.deepEqual(filesBelow(join(image.root, 'app')), before);
  assert.equal(statSync(join(image.root, 'data')).mode & 0o777, 0o700);
  assert.ok(readdirSync(join(image.root, 'data')).includes('carillon.db'));
});

test('only files that the build needs are sent to the builder', () => {
  assert.equal(
    dockerignore
      .split('\n')
      .filter((line) => line !== '' && !/^[#!]/.test(line))
      .join(),
    '*',
  );
  for (const path of ['data/carillon.db', '.git/config', 'deploy/.env', 'node_modules/pg/package.json', 'test/stories'])
    assert.equal(isInBuildContext(dockerignore, path), false, path);
});

const folder = createTemporaryFolder({ after });
const run = promisify(execFile);

/** The environment of a new user. Its PATH has no binaries of this repository or of the npm that runs this test. */
const npmEnvironment = {
  ...cleanEnvironment,
  PATH: (process.env.PATH ?? '')
    .split(delimiter)
    .filter((path) => !path.includes('node_modules'))
    .join(delimiter),
};
const npm = (cwd: string, ...args: string[]) => run('npm', args, { cwd, env: npmEnvironment, maxBuffer: 2 ** 24 });

const packed = await npm(root, 'pack', '--json', '--silent', '--pack-destination', folder);
const [{ filename, files }]: Json = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('[\n')));
const paths: string[] = files.map((file: Json) => file.path);

test('the package contains the program and its documents, and no tests', () => {
  for (const path of ['dist/main.js', 'console/dist/index.html', 'README.md', 'LICENSE', 'package.json'])
    assert.ok(paths.includes(path), path);
  assert.ok(paths.some((path) => /^dist\/migrations\/0001_\w+\.sql$/.test(path)));
  const unexpectedPaths = paths.filter(
    (path) =>
      !/^dist\/[\w/-]+(\.postgres)?\.(js|d\.ts|sql)$/.test(path) &&
      !/^console\/dist\/([\w.-]+\.(html|svg)|assets\/[\w-]+\.(js|css))$/.test(path) &&
      !/^(README|CHANGELOG|SECURITY)\.md$|^LICENSE$|^package\.json$/.test(path),
  );
  assert.deepEqual(unexpectedPaths, []);
  assert.deepEqual(
    paths.filter((path) => /test|corpus|bench|demo|sdk|packages/.test(path)),
    [],
  );
});

test('no production dependency has an install script', () => {
  const { packages }: Json = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const scripted = Object.entries<Json>(packages).filter(([, one]) => one.hasInstallScript === true);
  assert.deepEqual(
    scripted.map(([path]) => path),
    [],
  );
  const manifest: Json = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const name of ['preinstall', 'install', 'postinstall']) assert.equal(manifest.scripts[name], undefined);
});

test('without the tools that build the console, an install succeeds and packing fails', async (t) => {
  const bareFolder = createTemporaryFolder(t);
  cpSync(join(root, 'console'), join(bareFolder, 'console'), {
    recursive: true,
    filter: (path) => !path.includes('dist'),
  });
  const build = (...args: string[]) => run(process.execPath, ['console/build.ts', ...args], { cwd: bareFolder });
  const { stdout } = await build();
  assert.match(stdout, /^The console is not built: vite is not installed/);
  assert.ok(!existsSync(join(bareFolder, 'console/dist')));
  await assert.rejects(build('--must'), { code: 1 });
});

/** Starts `npx carillon serve` in the folder, in its own process group, so that all its processes end together. */
function startInstalled() {
  const child = spawn('npx', ['--no-install', 'carillon', 'serve', '--port', '0'], {
    cwd: folder,
    env: npmEnvironment,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const end = () => {
    const running = child.exitCode === null && child.signalCode === null;
    if (running && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
  };
  after(end);
  return { child, end };
}

test('installed from its tarball into an empty folder, the service starts with npx on the bundled Node', async () => {
  writeFileSync(join(folder, 'package.json'), '{"name":"newcomer","private":true,"type":"module"}');
  await npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund', '--silent', join(folder, filename));
  assert.ok(existsSync(join(folder, 'node_modules/.bin/node')));
  assert.ok(!existsSync(join(folder, 'node_modules/typescript')));

  const { child, end } = startInstalled();
  const [greeting] = await once(child.stdout, 'data');
  const greetingValue = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(String(greeting))?.[1] ?? '';
  const baseUrl = greetingValue('console').replace(/\/(#.*)?$/, '');
  assert.equal((await fetch(`${baseUrl}/readyz`)).status, 200);
  const document: Json = await (await fetch(`${baseUrl}/openapi.json`)).json();
  assert.equal(document.info.version, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version);

  const page = await fetch(baseUrl, { headers: { accept: 'text/html' } });
  assert.match(await page.text(), /<div id="app">/);

  // A child process parses the calendar. It starts from a file of the package that no other file imports.
  writeFileSync(
    join(folder, 'bells.ics'),
    'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1@bells\r\nDTSTAMP:20270101T000000Z\r\nDTSTART:20270131T090000Z\r\nDTEND:20270131T100000Z\r\nSUMMARY:Casting\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n',
  );
  const imported = await run('npx', ['--no-install', 'carillon', 'import-calendar', 'bells.ics'], {
    cwd: folder,
    env: {
      ...npmEnvironment,
      CARILLON_SERVICE: baseUrl,
      CARILLON_DOMAIN: greetingValue('domain'),
      CARILLON_KEY: greetingValue('key'),
    },
  });
  assert.match(imported.stdout, /^created: 1, /);

  end();
  await once(child, 'close');
  assert.ok(existsSync(join(folder, 'data/carillon.db')));
});
