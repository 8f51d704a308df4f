import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Problem } from '../../problems.ts';
import { AccountLocks } from './account-locks.ts';

/** Returns functions that start writes, and end them. */
function createWrites(locks: AccountLocks) {
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const write = (accountId: number, how: 'exclusive' | 'shared', name: string) =>
    locks.runWithLock(accountId, how, async () => {
      begun.push(name);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      ends.set(name, (error) => (error === undefined ? resolve() : reject(error)));
      await promise;
      return name;
    });
  return { begun, write, end: (name: string, error?: Error) => ends.get(name)?.(error) };
}

test('shared writes of an account run up to the limit, an exclusive one runs alone, first come, first served', async () => {
  const { begun, write, end } = createWrites(new AccountLocks(3, 10));
  const all = [
    write(1, 'shared', 'a'),
    write(1, 'exclusive', 'b'),
    write(1, 'exclusive', 'c'),
    write(1, 'shared', 'd'),
  ];
  const other = write(2, 'exclusive', 'of another');
  await turn();
  assert.deepEqual(begun, ['a', 'b', 'of another']);
  end('b');
  await turn();
  assert.deepEqual(begun, ['a', 'b', 'of another', 'c']);
  end('c');
  await turn();
  assert.deepEqual(begun, ['a', 'b', 'of another', 'c', 'd']);
  for (const name of ['a', 'd', 'of another']) end(name);
  assert.deepEqual(await Promise.all([...all, other]), ['a', 'b', 'c', 'd', 'of another']);
});

test('a failed write releases its lock, and writes beyond the waiting limit are rejected', async () => {
  const { begun, write, end } = createWrites(new AccountLocks(1, 2));
  const first = write(1, 'shared', 'a');
  const waiting = [write(1, 'shared', 'b'), write(1, 'shared', 'c')];
  await assert.rejects(write(1, 'shared', 'd'), (error) => error instanceof Problem && error.code === 'overloaded');
  end('a', new Error('of a'));
  await assert.rejects(first, /of a/);
  await turn();
  end('b');
  await turn();
  end('c');
  await Promise.all(waiting);
  assert.deepEqual(begun, ['a', 'b', 'c']);
});
