import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SingleFlight } from './single-flight.ts';

/** Creates a single flight whose runs the test ends. */
function createFlight() {
  const flight = new SingleFlight<string, number>();
  const runs: PromiseWithResolvers<number>[] = [];
  const results: number[] = [];
  const run = (key: string) => {
    const work = () => {
      const newRun = Promise.withResolvers<number>();
      runs.push(newRun);
      return newRun.promise;
    };
    return flight.run(key, work, (result) => results.push(result));
  };
  return { flight, runs, results, run };
}

test('concurrent callers with one key share a run, and a later caller starts a new one', async () => {
  const { run, runs, results } = createFlight();
  const callers = [run('a'), run('a'), run('b')];
  assert.equal(runs.length, 2);
  runs[0]?.resolve(1);
  runs[1]?.resolve(2);
  assert.deepEqual(await Promise.all(callers), [1, 1, 2]);
  assert.deepEqual(results, [1, 2]);
  void run('a');
  assert.equal(runs.length, 3);
});

test('a failed run fails for all its callers, and the next caller starts a new one', async () => {
  const { run, runs, results } = createFlight();
  const callers = [run('a'), run('a')];
  runs[0]?.reject(new Error('no connection'));
  for (const caller of callers) await assert.rejects(caller, { message: 'no connection' });
  const next = run('a');
  runs[1]?.resolve(1);
  assert.equal(await next, 1);
  assert.deepEqual(results, [1]);
});

test('a forgotten run ends for its callers, but is neither joined nor reported', async () => {
  const { flight, run, runs, results } = createFlight();
  const before = run('a');
  flight.forgetRuns();
  const after = run('a');
  assert.equal(runs.length, 2);
  runs[0]?.resolve(1);
  assert.equal(await before, 1);
  assert.deepEqual(results, []);
  assert.equal(run('a'), after, 'the end of a forgotten run does not end the new one');
  runs[1]?.resolve(2);
  assert.equal(await after, 2);
  assert.deepEqual(results, [2]);
});

test('waitForRuns waits for all runs, also for failing ones', async () => {
  const { flight, run, runs } = createFlight();
  const failing = assert.rejects(run('a'));
  void run('b');
  let haveEnded = false;
  const waiting = flight.waitForRuns().then(() => {
    haveEnded = true;
  });
  runs[0]?.reject(new Error('no connection'));
  await failing;
  assert.equal(haveEnded, false);
  runs[1]?.resolve(1);
  await waiting;
});
