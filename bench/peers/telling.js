import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';

// Runs a job queue of a peer: each job posts the body of a notification on keep-alive connections. Jobs are
// added one by one, each durable before the next, either as fast as they are processed or at a fixed rate.
const [, , peer = '', address = '', target = '', maxBacklog = ''] = process.argv;

/** Maximum concurrent posts of one process. */
const CONCURRENCY = 64;

const { origin, pathname: path } = new URL(target);
const pool = new Pool(origin, { connections: CONCURRENCY, pipelining: 1 });
const headers = { 'content-type': 'application/json' };
let delivered = 0;

async function post(number) {
  const body = JSON.stringify({ resource_url: `http://127.0.0.1:8080/v2/events/${number}` });
  const response = await pool.request({ method: 'POST', path, headers, body });
  await response.body.dump();
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  delivered += 1;
}

const { open } = await import(`./${peer}/queue.js`);
const queue = await open({ address, post, atOnce: CONCURRENCY });

/** Job numbers start with seven digits, as in a service that has been used for a while. */
let next = 1_000_000;

async function addAsDelivered({ forMs, writers }) {
  const startedAt = performance.now();
  const before = delivered;
  let added = 0;
  const runWriter = async () => {
    while (performance.now() - startedAt < forMs) {
      if (added - (delivered - before) > Number(maxBacklog)) await wait(20);
      else {
        added += 1;
        next += 1;
        await queue.add(next);
      }
    }
  };
  await Promise.all(Array.from({ length: writers }, runWriter));
  return { added };
}

/** The monotonic clock that all processes of a machine share, in milliseconds. */
const now = () => Number(process.hrtime.bigint()) / 1e6;

/** Adds jobs at a fixed rate and returns the due time of each, by number. */
async function addAtRate({ forMs, perSecond }) {
  const startedAt = now();
  const due = [];
  const adding = [];
  for (let index = 0; index < (perSecond * forMs) / 1_000; index += 1) {
    const dueAt = startedAt + (index * 1_000) / perSecond;
    const restMs = dueAt - now();
    if (restMs > 0.5) await wait(restMs);
    next += 1;
    due.push([String(next), dueAt]);
    adding.push(queue.add(next));
  }
  await Promise.all(adding);
  return { due };
}

process.on('message', async (order) => {
  process.send?.(await (order.perSecond === undefined ? addAsDelivered(order) : addAtRate(order)));
});
process.on('disconnect', () => process.exit(0));
process.send?.({ url: '' });
