import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Installs what only tests, checks and the build need, exactly as test/package-lock.json says, unless it is there.
const folder = fileURLToPath(new URL('.', import.meta.url));
const stamp = new URL('./node_modules/.installed', import.meta.url);
const wanted = createHash('sha256')
  .update(readFileSync(new URL('./package-lock.json', import.meta.url)))
  .digest('hex');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  const npm = process.env.npm_execpath;
  const [command, first] = npm === undefined ? ['npm', []] : [process.execPath, [npm]];
  const { status } = spawnSync(command, [...first, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(stamp, wanted);
}
