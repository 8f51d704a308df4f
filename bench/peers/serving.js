import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

// A server of somebody else, which does a part of the same.
const [, , peer = '', address = ''] = process.argv;

/** A port that nobody listens at: none of these says which one it took. */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function untilAnswered(url) {
  for (;;) {
    const isAnswered = await fetch(url).then(
      () => true,
      () => false,
    );
    if (isAnswered) return;
    await wait(50);
  }
}

const port = await freePort();
const { serve } = await import(`./${peer}/server.js`);
const { pid = process.pid } = (await serve({ address, port })) ?? {};
const url = `http://127.0.0.1:${port}`;
await untilAnswered(url);
process.on('disconnect', () => process.exit(0));
process.send?.({ url, pid });
