import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';

export type Healthy = {
  readonly url: string;
  /** Resolves with the arrival of the next notification; monotonic milliseconds. */
  next(): Promise<number>;
};

/** A target that answers 200 immediately and stores nothing, because memory is measured around it. */
export async function startHealthy(context: Cleanup): Promise<Healthy> {
  let coming = Promise.withResolvers<number>();
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.end();
      coming.resolve(performance.now());
      coming = Promise.withResolvers();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(context, () => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, next: () => coming.promise };
}
