import { Pool } from 'undici';

// Baseline F3: undici posts the body of a notification to a receiver as fast as possible, on keep-alive connections.
type PostingOrder = { readonly target: string; readonly connections: number; readonly forMs: number };

process.on('message', async ({ target, connections, forMs }: PostingOrder) => {
  const { origin, pathname: path } = new URL(target);
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const body = JSON.stringify({ resource_url: 'http://127.0.0.1:8080/v2/events/1234567' });
  const headers = { 'content-type': 'application/json' };
  let responses = 0;
  const startedAt = performance.now();
  const postUntilEnd = async () => {
    while (performance.now() - startedAt < forMs) {
      const response = await pool.request({ method: 'POST', path, headers, body });
      await response.body.dump();
      responses += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, postUntilEnd));
  const perSecond = responses / ((performance.now() - startedAt) / 1_000);
  await pool.close();
  process.send?.({ perSecond });
});
process.send?.({ url: '' });
