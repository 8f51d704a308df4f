import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tsc } from './toolbox.ts';

// Makes the folder that is packed as @carillon/sdk: what its entrances reach and nothing else; `build/sdk` unless named.
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = resolve(process.argv[2] ?? join(root, 'build/sdk'));

rmSync(folder, { recursive: true, force: true });
const { status } = spawnSync(tsc, ['-p', join(root, 'src/sdk'), '--outDir', folder], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);

// The compiler writes .js into the code and leaves .ts in the declarations, which not every tool follows.
for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
  if (!entry.endsWith('.d.ts')) continue;
  const path = join(folder, entry);
  writeFileSync(path, readFileSync(path, 'utf8').replace(/(['"])(\.{1,2}\/[^'"]+)\.ts\1/g, '$1$2.js$1'));
}
cpSync(join(root, 'src/sdk/package.json'), join(folder, 'package.json'));
cpSync(join(root, 'src/sdk/README.md'), join(folder, 'README.md'));
cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
