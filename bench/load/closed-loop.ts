import { Connection, type Wired } from './connection.ts';

/**
 * Sends the next call on each connection as soon as the last one is answered. Returns the calls answered per second.
 *
 * @param calls sent in turn; each connection starts at another position
 */
export async function callsPerSecond(
  origin: string,
  calls: readonly [Wired, ...Wired[]],
  { connections, forMs }: { readonly connections: number; readonly forMs: number },
): Promise<number> {
  const opened = await Promise.all(Array.from({ length: connections }, () => Connection.open(origin)));
  let answered = 0;
  const begun = performance.now();
  const keepAsking = async (connection: Connection, place: number) => {
    for (let turn = place; performance.now() - begun < forMs; turn += 1) {
      await connection.ask(calls[turn % calls.length] ?? calls[0]);
      answered += 1;
    }
  };
  try {
    await Promise.all(opened.map((connection, index) => keepAsking(connection, index * 97)));
    return answered / ((performance.now() - begun) / 1_000);
  } finally {
    for (const connection of opened) connection.close();
  }
}
