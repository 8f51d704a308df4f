import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

// Builds the contents of the npm package. Node does not strip types below node_modules, so the package contains
// bundled JavaScript; few files make the start faster. All files are in one folder, so that relative URLs still
// work.
const root = fileURLToPath(new URL('..', import.meta.url));

function run(...args: string[]): void {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

await build({
  root,
  configFile: false,
  logLevel: 'warn',
  publicDir: false,
  build: {
    // `ssr` leaves the dependencies out of the bundle, because npm installs them.
    ssr: true,
    outDir: 'dist',
    target: 'node24',
    minify: false,
    rolldownOptions: {
      input: { main: 'src/main.ts', 'parser-process': 'src/ical/parser-process.ts' },
      output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
    },
  },
});
cpSync(`${root}/src/store/migrations`, `${root}/dist/migrations`, { recursive: true });
chmodSync(`${root}/dist/main.js`, 0o755);
run('console/build.ts', '--must');
