import { Connection, type Wired } from './connection.ts';

/**
 * Sends the next call on each connection as soon as the last one has its response. Returns responses per
 * second.
 *
 * @param calls sent in turn; each connection starts at another position
 */
export async function callsPerSecond(
  origin: string,
  calls: readonly [Wired, ...Wired[]],
  { connections, forMs }: { readonly connections: number; readonly forMs: number },
): Promise<number> {
  const opened = await Promise.all(Array.from({ length: connections }, () => Connection.open(origin)));
  let responses = 0;
  const startedAt = performance.now();
  const sendCalls = async (connection: Connection, first: number) => {
    for (let index = first; performance.now() - startedAt < forMs; index += 1) {
      await connection.ask(calls[index % calls.length] ?? calls[0]);
      responses += 1;
    }
  };
  try {
    await Promise.all(opened.map((connection, index) => sendCalls(connection, index * 97)));
    return responses / ((performance.now() - startedAt) / 1_000);
  } finally {
    for (const connection of opened) connection.close();
  }
}
