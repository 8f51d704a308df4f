import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { testClock } from '../../../test/kit/clock.ts';
import { Problem } from '../../problems.ts';
import { ReadLimiter } from './read-limiter.ts';

/** Creates a limiter for two reads, with its own clock. The test ends each read. */
function createReads() {
  const clock = testClock();
  const limiter = new ReadLimiter(2, clock);
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const read = (name: string) =>
    limiter.runWithPermit(async () => {
      begun.push(name);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      ends.set(name, (error) => (error === undefined ? resolve() : reject(error)));
      await promise;
      return name;
    });
  const end = (name: string, error?: Error) => {
    ends.get(name)?.(error);
    return turn();
  };
  return { clock, begun, read, end };
}

test('reads run up to the limit, first come, first served, and a failed one releases its permit', async () => {
  const { begun, read, end } = createReads();
  const [failing, ...others] = [read('a'), read('b'), read('c'), read('d'), read('e')];
  assert.deepEqual(begun, ['a', 'b']);
  const failed = assert.rejects(failing as Promise<string>, /of a/);
  await end('a', new Error('of a'));
  assert.deepEqual(begun, ['a', 'b', 'c']);
  await failed;
  await end('b');
  await end('c');
  assert.deepEqual(begun, ['a', 'b', 'c', 'd', 'e']);
  await end('d');
  await end('e');
  assert.deepEqual(await Promise.all(others), ['b', 'c', 'd', 'e']);
  const more = [read('f'), read('g'), read('h')];
  assert.deepEqual(begun.slice(5), ['f', 'g']);
  for (const name of ['f', 'g', 'h']) await end(name);
  assert.deepEqual(await Promise.all(more), ['f', 'g', 'h']);
});

test('a request that has waited too long is rejected without a query; later ones run', async () => {
  const { clock, begun, read, end } = createReads();
  const first = [read('a'), read('b')];
  const late = ['c', 'd'].map((name) =>
    assert.rejects(read(name), (error) => error instanceof Problem && error.code === 'overloaded'),
  );
  await clock.advance(10_000);
  const inTime = [read('e')];
  await clock.advance(1);
  await end('a');
  await Promise.all(late);
  assert.deepEqual(begun, ['a', 'b', 'e']);
  await end('b');
  await end('e');
  assert.deepEqual(await Promise.all([...first, ...inTime]), ['a', 'b', 'e']);
  const again = [read('f'), read('g'), read('h')];
  assert.deepEqual(begun.slice(3), ['f', 'g']);
  for (const name of ['f', 'g', 'h']) await end(name);
  await Promise.all(again);
});
