import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { follow, isSent } from '../kit/dockerfile.ts';
import { inherited } from '../kit/environment.ts';
import { freePort } from '../kit/port.ts';
import { temporaryFolder } from '../kit/service.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
const ignore = readFileSync(join(root, '.dockerignore'), 'utf8');

/** The user id of the service when the test runs as root: nobody. */
const NOBODY_UID = 65_534;
const owner = process.getuid?.() === 0 ? NOBODY_UID : undefined;

/** The environment of the image: no binaries of this repository or of the npm that runs this test. */
const environment = {
  ...inherited,
  PATH: [join(process.execPath, '..'), ...(process.env.PATH ?? '').split(delimiter)]
    .filter((path) => !path.includes('node_modules/.bin'))
    .join(delimiter),
  npm_config_prefer_offline: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
};

const filesBelow = (folder: string) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

test('the steps of the Dockerfile make a service that runs as an unprivileged user, becomes ready, writes only to /data and stops on SIGTERM', async (t) => {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  const image = await follow(dockerfile, { context: root, ignore, folder, environment, owner });
  assert.equal(image.user, 'node');
  assert.equal(image.exposed, image.environment.CARILLON_PORT);
  for (const absent of ['node_modules/typescript', 'node_modules/.bin/node', 'test', 'src', 'console/src'])
    assert.ok(!filesBelow(join(image.root, 'app')).includes(absent), absent);

  // A copy of Node: the unprivileged user may have no access to the original.
  const node = join(folder, 'node');
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  const before = filesBelow(join(image.root, 'app'));
  const here = (word: string) => (word === 'node' ? node : word.replace(/^\/app/, join(image.root, 'app')));
  const port = await freePort();
  const options = {
    env: {
      ...image.environment,
      CARILLON_DATABASE: (image.environment.CARILLON_DATABASE ?? '').replace('/data', join(image.root, 'data')),
      CARILLON_PORT: String(port),
      CARILLON_BASE_URL: `http://127.0.0.1:${port}`,
    },
    cwd: join(image.root, image.workdir),
    ...(owner === undefined ? {} : { uid: owner, gid: owner }),
  };
  const start = ([program = '', ...args]: readonly string[], stderr: 'inherit' | 'ignore') =>
    spawn(here(program), args.map(here), { ...options, stdio: ['ignore', 'pipe', stderr] });

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
    ignore
      .split('\n')
      .filter((line) => line !== '' && !/^[#!]/.test(line))
      .join(),
    '*',
  );
  for (const path of ['data/carillon.db', '.git/config', 'deploy/.env', 'node_modules/pg/package.json', 'test/stories'])
    assert.equal(isSent(ignore, path), false, path);
});
