import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { tsc } from './toolbox.ts';

// Emits the package: Node strips no types under node_modules, so what is published is JavaScript.
const root = fileURLToPath(new URL('..', import.meta.url));
rmSync(`${root}/dist`, { recursive: true, force: true });
const { status } = spawnSync(tsc, ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);
cpSync(`${root}/src/store/migrations`, `${root}/dist/store/migrations`, { recursive: true });
chmodSync(`${root}/dist/main.js`, 0o755);
