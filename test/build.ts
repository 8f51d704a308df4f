import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { tsc } from './toolbox.ts';

// Emits the package: Node strips no types under node_modules, so what is published is JavaScript; the console; and the
// package of the SDK alone.
const root = fileURLToPath(new URL('..', import.meta.url));

function run(command: string, ...args: string[]): void {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

rmSync(`${root}/dist`, { recursive: true, force: true });
run(tsc, '-p', 'tsconfig.build.json');
cpSync(`${root}/src/store/migrations`, `${root}/dist/store/migrations`, { recursive: true });
chmodSync(`${root}/dist/main.js`, 0o755);
run(process.execPath, 'console/build.ts', '--must');
run(process.execPath, 'test/build-sdk.ts');
