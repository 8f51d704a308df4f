import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that systems give to whoever connects: what is free here stays so until somebody listens. */
const [LOWEST, HIGHEST] = [10_000, 32_000];

let next = randomInt(LOWEST, HIGHEST);

/**
 * A port on which nothing listens at this moment, and which no connection takes meanwhile. Nobody else in this process is
 * given the same one before all others were: whoever it was given to may not listen yet.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next;
    next = port + 1 < HIGHEST ? port + 1 : LOWEST;
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
