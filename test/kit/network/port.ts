import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Range below the ephemeral ports, so that no outgoing connection takes a port between the check and its use. */
const [MIN_PORT, MAX_PORT] = [10_000, 32_000];

let nextPort = randomInt(MIN_PORT, MAX_PORT);

/**
 * Returns a free port. This process returns a port again only after all other ports, because its caller may not listen
 * yet.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = nextPort;
    nextPort = port + 1 < MAX_PORT ? port + 1 : MIN_PORT;
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
