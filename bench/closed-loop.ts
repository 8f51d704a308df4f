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
 */
export async function callsPerSecond(origin: string, call: Call, connections: number, forMs: number): Promise<number> {
  const pool = new Pool(origin, { connections, pipelining: 1 });
  let answered = 0;
  const begun = performance.now();
  const keepAsking = async () => {
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
  await Promise.all(Array.from({ length: connections }, keepAsking));
  const seconds = (performance.now() - begun) / 1_000;
  await pool.close();
  return answered / seconds;
}
