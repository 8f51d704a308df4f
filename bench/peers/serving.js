import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

// Runs a peer that is an HTTP server.
const [, , peer = '', address = ''] = process.argv;

/** Returns a free port: these servers do not report which port they use. */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function untilReady(url) {
  for (;;) {
    const isReady = await fetch(url).then(
      () => true,
      () => false,
    );
    if (isReady) return;
    await wait(50);
  }
}

const port = await freePort();
const { serve } = await import(`./${peer}/server.js`);
const { pid = process.pid } = (await serve({ address, port })) ?? {};
const url = `http://127.0.0.1:${port}`;
await untilReady(url);
process.on('disconnect', () => process.exit(0));
process.send?.({ url, pid });
