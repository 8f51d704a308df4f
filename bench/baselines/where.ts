import type { Server } from 'node:http';

/** Sends the URL of the server to the parent process. */
export function reportUrl(server: Server): void {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server does not listen');
  process.send?.({ url: `http://127.0.0.1:${address.port}` });
}
