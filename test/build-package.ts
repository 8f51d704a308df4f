import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tscPath } from './install.ts';

// Compiles the package in the current folder into its `dist`. Packages contain JavaScript, because Node does
// not strip types below node_modules.
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = process.cwd();
const dist = join(folder, 'dist');

rmSync(dist, { recursive: true, force: true });
const { status } = spawnSync(tscPath, ['-p', folder], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);

// The compiler rewrites `.ts` imports to `.js` in code, but not in declarations, where some tools cannot
// resolve them.
for (const entry of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
  if (!entry.endsWith('.d.ts')) continue;
  const path = join(dist, entry);
  writeFileSync(path, readFileSync(path, 'utf8').replace(/(['"])(\.{1,2}\/[^'"]+)\.ts\1/g, '$1$2.js$1'));
}
const { bin = {} }: { bin?: Record<string, string> } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
for (const path of Object.values(bin)) chmodSync(join(folder, path), 0o755);
cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
