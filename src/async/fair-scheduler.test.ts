import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { FairQueue, FairScheduler } from './fair-scheduler.ts';

/** Creates a scheduler whose jobs take 2 ms each, and a log of the jobs that ran in each iteration. */
function createScheduler(iterationBudgetMs: number) {
  let now = 0;
  let iteration = 0;
  const log: string[] = [];
  const scheduler = new FairScheduler({ clock: { monotonic: () => now }, iterationBudgetMs });
  const work = (name: string) => {
    now += 2;
    log.push(`${iteration} ${name}`);
  };
  const count = () => {
    iteration += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const end = async (jobs: number) => {
    while (log.length < jobs) await nextIteration();
    clearImmediate(counting);
  };
  return { scheduler, work, log, end };
}

test('owners take turns, and an iteration starts no job after its budget is used', async () => {
  const { scheduler: jobs, work, log, end } = createScheduler(3);
  for (const name of ['a1', 'a2', 'a3', 'b1']) jobs.run(name.slice(0, 1), () => work(name));
  await end(4);
  assert.deepEqual(log, ['0 a1', '0 b1', '1 a2', '1 a3']);
});

test('the work after a turn counts against the budget, so that a long body leaves room for requests of others', async () => {
  const { scheduler: jobs, work, log, end } = createScheduler(2);
  const read = async () => {
    for (const chunk of ['chunk 1', 'chunk 2']) {
      await jobs.waitForTurn('body');
      work(chunk);
    }
  };
  const readers = [read(), read()];
  jobs.run('request', () => work('request'));
  await Promise.all([...readers, end(5)]);
  assert.deepEqual(log.slice(0, 3), ['0 chunk 1', '1 request', '2 chunk 1']);
  assert.equal(new Set(log.map((line) => line.slice(0, 1))).size, 5);
});

test('owners take turns, each in its own order, however much one of them has queued', () => {
  const queue = new FairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'a4']) queue.push('a', item);
  queue.push('b', 'b1');
  queue.push('c', 'c1');
  assert.deepEqual([queue.shift(), queue.shift(), queue.size], ['a1', 'b1', 4]);
  queue.push('b', 'b2');
  assert.deepEqual(
    Array.from({ length: 6 }, () => queue.shift()),
    ['c1', 'a2', 'b2', 'a3', 'a4', undefined],
  );
  assert.equal(queue.size, 0);
});

test('an owner that arrives while another is being served comes next, and each waits for one turn of the other', () => {
  const queue = new FairQueue<string>();
  for (const item of ['a1', 'a2', 'a3']) queue.push('a', item);
  const served = [queue.shift()];
  queue.push('b', 'b1');
  served.push(queue.shift());
  queue.push('b', 'b2');
  served.push(queue.shift(), queue.shift(), queue.shift());
  assert.deepEqual(served, ['a1', 'b1', 'a2', 'b2', 'a3']);
  assert.deepEqual([queue.shift(), queue.size], [undefined, 0]);
});

test('a recorded turn of an owner that did not wait counts as one', () => {
  const queue = new FairQueue<string>();
  queue.recordTurn('a');
  queue.push('a', 'a1');
  queue.push('b', 'b1');
  assert.deepEqual([queue.shift(), queue.shift()], ['b1', 'a1']);
});
