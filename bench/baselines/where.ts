import type { Server } from 'node:http';

/** Tells whoever started this process where its server is. */
export function sayWhere(server: Server): void {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('it does not listen');
  process.send?.({ url: `http://127.0.0.1:${address.port}` });
}
