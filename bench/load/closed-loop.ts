import { Connection, type Wired } from './connection.ts';

/**
 * Keeps connections busy for so long, each asking again as soon as it is answered, and answers how many calls came back
 * a second.
 *
 * @param calls what is asked, one after the other, from another place on each connection
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
