import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';

// A queue of somebody else that tells a receiver: each job posts the body of a notification over kept connections. Jobs
// are added one by one, each durable before the next, as fast as they are worked off.
const [, , peer = '', address = '', target = '', most = ''] = process.argv;

/** Posts at once, of one process. */
const AT_ONCE = 64;

const { origin, pathname: path } = new URL(target);
const pool = new Pool(origin, { connections: AT_ONCE, pipelining: 1 });
const body = JSON.stringify({ resource_url: 'http://127.0.0.1:8080/v2/events/1234567' });
const headers = { 'content-type': 'application/json' };
let told = 0;

async function post() {
  const answer = await pool.request({ method: 'POST', path, headers, body });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
  told += 1;
}

const { open } = await import(`./${peer}/queue.js`);
const queue = await open({ address, post, atOnce: AT_ONCE });

process.on('message', async ({ forMs, writers }) => {
  const begun = performance.now();
  const before = told;
  let added = 0;
  const keepAdding = async () => {
    while (performance.now() - begun < forMs) {
      if (added - (told - before) > Number(most)) await wait(20);
      else {
        added += 1;
        await queue.add();
      }
    }
  };
  await Promise.all(Array.from({ length: writers }, keepAdding));
  process.send?.({ added });
});
process.on('disconnect', () => process.exit(0));
process.send?.({ url: '' });
