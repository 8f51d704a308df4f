import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { install } from '../test/install.ts';

// Installs each package of this folder from its lockfile, then builds, lints and tests it with its platform's tools.
// `npm run integrations` does this for all packages, `npm run integrations -- n8n` for one.
const steps = ['build', 'types', 'lint', 'test'];
const binFolderOf = (folder: URL) => fileURLToPath(new URL('node_modules/.bin', folder));
const root = new URL('../', import.meta.url);

// The tests of the packages import the test kit of the repository, which needs its own dependencies.
install(new URL('test/', root));
const requestedNames = process.argv.slice(2);
for (const name of requestedNames.length > 0 ? requestedNames : ['n8n', 'zapier']) {
  const folder = new URL(`${name}/`, import.meta.url);
  const { scripts } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'));
  runTimed(`${name}: install`, () => install(folder));
  for (const step of steps.filter((one) => Object.hasOwn(scripts, one))) {
    runTimed(`${name}: ${step}`, () => run(folder, scripts[step]));
  }
}

function run(folder: URL, command: string): void {
  // Put the Node that the root package pins at the front of PATH, as npm does for the root's scripts.
  const path = [binFolderOf(folder), binFolderOf(root), process.env.PATH].join(delimiter);
  const { status } = spawnSync(command, {
    cwd: fileURLToPath(folder),
    env: { ...process.env, PATH: path },
    shell: true,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

function runTimed(step: string, work: () => void): void {
  const startedAt = performance.now();
  work();
  process.stdout.write(`${step}: ${((performance.now() - startedAt) / 1_000).toFixed(1)} s\n`);
}
