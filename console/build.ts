import { readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

// Builds the console into console/dist. npm runs this script after `npm ci` in a checkout, and before packing.
// Without vite, which an install without development and optional packages does not have, the build is skipped.
const vite = await import('vite').catch((error: unknown) => {
  process.stdout.write(`The console is not built: vite is not installed (${String(error).split('\n')[0]}).\n`);
});
if (vite !== undefined) {
  const configFile = fileURLToPath(new URL('vite.config.ts', import.meta.url));
  const buildResult = await vite.build({ configFile, logLevel: 'warn' });
  // Delete stale files after the build, not before, so that a server that starts during the build finds a complete
  // console.
  const outputFiles = [buildResult].flat().flatMap((result) => ('output' in result ? result.output : []));
  const pathInConsole = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const distFolder = pathInConsole('dist');
  const currentFiles = new Set([
    ...outputFiles.map(({ fileName }) => fileName),
    ...readdirSync(pathInConsole('public')),
  ]);
  for (const entry of readdirSync(distFolder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !currentFiles.has(relative(distFolder, path))) rmSync(path);
  }
} else if (process.argv.includes('--must')) {
  process.exit(1);
}
