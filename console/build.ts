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
  await tools.build({ configFile, logLevel: 'warn' });
} else if (process.argv.includes('--must')) {
  process.exit(1);
}
