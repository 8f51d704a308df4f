import { Pool } from 'undici';

/** What is asked again and again. */
export type Call = {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly status: number;
};

/**
 * Keeps so many connections busy for so long, each asking again as soon as it is answered, and answers how many
 * calls came back per second. An answer of another status than expected ends the run: a fast failure is no throughput.
 *
 * @param calls what is asked, the same on each connection or one after the other for each
 */
export async function callsPerSecond(
  origin: string,
  calls: Call | readonly [Call, ...Call[]],
  connections: number,
  forMs: number,
): Promise<number> {
  const pool = new Pool(origin, { connections, pipelining: 1 });
  let answered = 0;
  const begun = performance.now();
  const keepAsking = async (connection: number) => {
    const call = 'path' in calls ? calls : (calls[connection % calls.length] ?? calls[0]);
    while (performance.now() - begun < forMs) {
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: call.path,
        headers: call.headers,
        body: call.body,
      });
      await body.dump();
      if (statusCode !== call.status) throw new Error(`${call.path} answered ${statusCode}`);
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, connection) => keepAsking(connection)));
  const seconds = (performance.now() - begun) / 1_000;
  await pool.close();
  return answered / seconds;
}
