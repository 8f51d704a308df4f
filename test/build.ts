import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

// Makes what the package holds. Node strips no types under node_modules, so what is published is JavaScript; and of few
// files, as each is looked for at every start. What a file finds beside itself it finds there, too: all lie in one folder.
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
    // Its dependencies are installed beside it.
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
