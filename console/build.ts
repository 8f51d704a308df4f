import { readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

// Builds the console into console/dist. npm runs this script after `npm ci` in a checkout, and before packing.
// Without vite, which an install without development and optional packages does not have, the build is skipped.
const tools = await import('vite').catch((error: unknown) => {
  process.stdout.write(`The console is not built: vite is not installed (${String(error).split('\n')[0]}).\n`);
});
if (tools !== undefined) {
  const configFile = fileURLToPath(new URL('vite.config.ts', import.meta.url));
  const built = await tools.build({ configFile, logLevel: 'warn' });
  // Delete stale files after the build, not before, so that a server that starts during the build finds a complete
  // console.
  const outputs = [built].flat().flatMap((one) => ('output' in one ? one.output : []));
  const inThisFolder = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const folder = inThisFolder('dist');
  const files = new Set([...outputs.map(({ fileName }) => fileName), ...readdirSync(inThisFolder('public'))]);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !files.has(relative(folder, path))) rmSync(path);
  }
} else if (process.argv.includes('--must')) {
  process.exit(1);
}
