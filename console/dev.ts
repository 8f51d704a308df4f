import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

// Starts the service, which restarts when a file of it changes, and the console with hot reload. The server of
// the console forwards API calls to the service, so the browser uses one address for both.
const root = fileURLToPath(new URL('..', import.meta.url));
const servicePort = process.env.CARILLON_PORT ?? '8080';
const serviceUrl = `http://127.0.0.1:${servicePort}`;
// Not `/calendar` itself, only the documents that calendar programs poll.
const servicePaths = ['/console', '/v2', '/docs', '/openapi.json', '^/calendar/[^/]+'];

const consoleServer = await createServer({
  configFile: fileURLToPath(new URL('vite.config.ts', import.meta.url)),
  server: {
    host: '127.0.0.1',
    strictPort: true,
    proxy: Object.fromEntries(servicePaths.map((path) => [path, serviceUrl])),
  },
});
await consoleServer.listen();
const [consoleUrl = ''] = consoleServer.resolvedUrls?.local ?? [];
const service = spawn(process.execPath, ['--watch', '--watch-preserve-output', 'src/main.ts', 'serve'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, CARILLON_PORT: servicePort, CARILLON_BASE_URL: consoleUrl.replace(/\/$/, '') },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => service.kill(signal));
service.on('exit', (code) => {
  void consoleServer.close().then(() => process.exit(code ?? 0));
});
