import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { biomePath, tscPath } from './install.ts';

// Every change must pass these checks in addition to the tests: types, lint, format, derived documents.
const root = fileURLToPath(new URL('..', import.meta.url));
const checks: [string, string, string[]][] = [
  ['types', tscPath, ['-p', 'tsconfig.json']],
  ['types of the console', tscPath, ['-p', 'console/tsconfig.json']],
  ['lint and format', biomePath, ['check', '--error-on-warnings']],
  ['derived documents', process.execPath, ['test/docs.ts', '--check']],
];
let failed = false;
for (const [name, command, args] of checks) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  process.stdout.write(`${status === 0 ? 'ok' : 'FAILED'}: ${name}\n`);
  failed ||= status !== 0;
}
process.exit(failed ? 1 : 0);
