import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Range below the ephemeral ports, so that no outgoing connection takes a port between the check and its use. */
const [LOWEST, HIGHEST] = [10_000, 32_000];

let next = randomInt(LOWEST, HIGHEST);

/**
 * Returns a free port. This process returns a port again only after all other ports, because its caller may not listen
 * yet.
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
