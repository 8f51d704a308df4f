import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Problem } from '../../problems.ts';
import { AccountLocks } from './account-locks.ts';

/** Returns functions that start writes, and end them. */
function createWrites(locks: AccountLocks) {
  const begun: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const write = (accountId: number, lockMode: 'exclusive' | 'shared', name: string, userId = 1) =>
    locks.runWithLock({ accountId, userId, lockMode }, async () => {
      begun.push(name);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      ends.set(name, (error) => (error === undefined ? resolve() : reject(error)));
      await promise;
      return name;
    });
  return { begun, write, end: (name: string, error?: Error) => ends.get(name)?.(error) };
}

test('shared writes of an account run up to the limit, and an exclusive one runs alone', async () => {
  const { begun, write, end } = createWrites(new AccountLocks(2, 10));
  const all = ['a', 'b', 'c'].map((name) => write(1, 'shared', name));
  const other = write(2, 'exclusive', 'of another account');
  await turn();
  assert.deepEqual(begun, ['a', 'b', 'of another account']);
  all.push(write(1, 'exclusive', 'd'), write(1, 'shared', 'e'));
  end('a');
  await turn();
  // The exclusive write is next, and waits for the other shared one.
  assert.deepEqual(begun, ['a', 'b', 'of another account']);
  for (const names of [['b'], ['d'], ['c', 'e', 'of another account']]) {
    for (const name of names) end(name);
    await turn();
  }
  assert.deepEqual(begun, ['a', 'b', 'of another account', 'd', 'c', 'e']);
  assert.deepEqual(await Promise.all([...all, other]), ['a', 'b', 'c', 'd', 'e', 'of another account']);
});

test('all waiting shared writes follow each exclusive one, however many exclusive ones wait', async () => {
  const { begun, write, end } = createWrites(new AccountLocks(3, 10));
  const all = ['A', 'B', 'C'].map((name) => write(1, 'exclusive', name));
  all.push(...['a', 'b'].map((name) => write(1, 'shared', name)));
  await turn();
  for (const names of [['A'], ['a', 'b'], ['B'], ['C']]) {
    assert.deepEqual(begun.slice(-names.length), names);
    for (const name of names) end(name);
    await turn();
  }
  assert.equal((await Promise.all(all)).length, 5);
});

test('the exclusive writes of the users of an account take turns', async () => {
  const { begun, write, end } = createWrites(new AccountLocks(3, 10));
  const all = ['A1', 'A2', 'A3'].map((name) => write(1, 'exclusive', name, 1));
  all.push(...['B1', 'B2'].map((name) => write(1, 'exclusive', name, 2)));
  const order = ['A1', 'B1', 'A2', 'B2', 'A3'];
  for (const name of order) {
    await turn();
    end(name);
  }
  await Promise.all(all);
  assert.deepEqual(begun, order);
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
