import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';

// A queue of somebody else that tells a receiver: each job posts the body of a notification over kept connections. Jobs
// are added one by one, each durable before the next, as fast as they are worked off; or at a rate, whatever becomes of them.
const [, , peer = '', address = '', target = '', most = ''] = process.argv;

/** Posts at once, of one process. */
const AT_ONCE = 64;

const { origin, pathname: path } = new URL(target);
const pool = new Pool(origin, { connections: AT_ONCE, pipelining: 1 });
const headers = { 'content-type': 'application/json' };
let told = 0;

async function post(number) {
  const body = JSON.stringify({ resource_url: `http://127.0.0.1:8080/v2/events/${number}` });
  const answer = await pool.request({ method: 'POST', path, headers, body });
  await answer.body.dump();
  if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
  told += 1;
}

const { open } = await import(`./${peer}/queue.js`);
const queue = await open({ address, post, atOnce: AT_ONCE });

/** The numbers of jobs begin with seven digits, as those of a service that has been there for a while. */
let next = 1_000_000;

async function addAsTold({ forMs, writers }) {
  const begun = performance.now();
  const before = told;
  let added = 0;
  const keepAdding = async () => {
    while (performance.now() - begun < forMs) {
      if (added - (told - before) > Number(most)) await wait(20);
      else {
        added += 1;
        next += 1;
        await queue.add(next);
      }
    }
  };
  await Promise.all(Array.from({ length: writers }, keepAdding));
  return { added };
}

/** The clock that all processes of a machine share, milliseconds. */
const moment = () => Number(process.hrtime.bigint()) / 1e6;

/** When each was due, by its number. */
async function addAtRate({ forMs, perSecond }) {
  const begun = moment();
  const due = [];
  const adding = [];
  for (let turn = 0; turn < (perSecond * forMs) / 1_000; turn += 1) {
    const dueAt = begun + (turn * 1_000) / perSecond;
    const restMs = dueAt - moment();
    if (restMs > 0.5) await wait(restMs);
    next += 1;
    due.push([String(next), dueAt]);
    adding.push(queue.add(next));
  }
  await Promise.all(adding);
  return { due };
}

process.on('message', async (order) => {
  process.send?.(await (order.perSecond === undefined ? addAsTold(order) : addAtRate(order)));
});
process.on('disconnect', () => process.exit(0));
process.send?.({ url: '' });
