import { Connection, type Wired } from './connection.ts';

/**
 * Keeps connections busy for so long, each asking again as soon as it is answered, and answers how many calls came back
 * a second.
 *
 * @param calls what is asked, one after the other, from another place on each connection
 * @param keeps whether a connection outlives an answer; if not, each call has one of its own
 */
export async function callsPerSecond(
  origin: string,
  calls: readonly [Wired, ...Wired[]],
  {
    connections,
    forMs,
    keeps = true,
  }: { readonly connections: number; readonly forMs: number; readonly keeps?: boolean },
): Promise<number> {
  const opened = await Promise.all(Array.from({ length: connections }, () => Connection.open(origin)));
  let answered = 0;
  const begun = performance.now();
  const keepAsking = async (first: Connection, place: number) => {
    let connection = first;
    for (let turn = place; performance.now() - begun < forMs; turn += 1) {
      if (!keeps && turn > place) connection = await Connection.open(origin);
      await connection.ask(calls[turn % calls.length] ?? calls[0]);
      if (!keeps) connection.close();
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
