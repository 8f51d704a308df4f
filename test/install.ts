import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Runs `npm ci` in a folder unless its lockfile is already installed. Exits the process on failure. */
export function install(folder: URL): void {
  const stamp = new URL('node_modules/.installed', folder);
  const lockHash = createHash('sha256')
    .update(readFileSync(new URL('package-lock.json', folder)))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash) return;
  const npm = process.env.npm_execpath;
  const [command, first] = npm === undefined ? ['npm', []] : [process.execPath, [npm]];
  const { status } = spawnSync(command, [...first, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: fileURLToPath(folder),
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(stamp, lockHash);
}

const toolPath = (name: string) => fileURLToPath(new URL(`./node_modules/.bin/${name}`, import.meta.url));

/** Paths of the tools in test/package.json. */
export const tscPath = toolPath('tsc');
export const biomePath = toolPath('biome');

// Run directly, installs the tools for tests, checks and builds by test/package-lock.json.
if (import.meta.main) install(new URL('./', import.meta.url));
