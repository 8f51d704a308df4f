import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// What takes more than Node and npm, and so is no part of `npm test`: all of it, or what is named. `npm run prove -- khal`
const folder = fileURLToPath(new URL('.', import.meta.url));
const all = readdirSync(folder)
  .filter((name) => name.endsWith('.ts') && name !== 'run.ts')
  .map((name) => name.slice(0, -'.ts'.length));
const named = process.argv.slice(2);

for (const name of named.length > 0 ? named : all) {
  if (!all.includes(name)) {
    process.stderr.write(`There is no proof ${name}; there is ${all.join(', ')}.\n`);
    process.exit(1);
  }
  process.stdout.write(`${name}\n`);
  const { status } = spawnSync(process.execPath, [`${folder}${name}.ts`], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
