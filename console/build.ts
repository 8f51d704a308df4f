import { readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

// Builds the console into console/dist. Runs by itself after `npm ci` in a checkout, and before packing. An install
// without development or optional packages has nothing to build with, and goes on without.
const tools = await import('vite').catch((error: unknown) => {
  process.stdout.write(
    `The console is not built; what builds it was left out of this install (${String(error).split('\n')[0]}).\n`,
  );
});
if (tools !== undefined) {
  const configFile = fileURLToPath(new URL('vite.config.ts', import.meta.url));
  const built = await tools.build({ configFile, logLevel: 'warn' });
  // What is built anew stays there all the while, for a service that starts at this moment; then what is not part of it
  // goes.
  const outputs = [built].flat().flatMap((one) => ('output' in one ? one.output : []));
  const besideThis = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const folder = besideThis('dist');
  const files = new Set([...outputs.map(({ fileName }) => fileName), ...readdirSync(besideThis('public'))]);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !files.has(relative(folder, path))) rmSync(path);
  }
} else if (process.argv.includes('--must')) {
  process.exit(1);
}
