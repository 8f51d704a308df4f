import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { testClock } from '../../../test/kit/clock.ts';
import { LargePages } from './large-page-slots.ts';

/** Slots, and the order in which they were granted. */
function slots() {
  const clock = testClock();
  const pages = new LargePages(clock);
  const began: string[] = [];
  const failed: string[] = [];
  const leaving = new Map<string, () => void>();
  const gone = new Set<string>();
  const enter = (name: string, accountId: number) =>
    pages
      .enter(accountId, () => gone.has(name))
      .then(
        (leave) => {
          began.push(name);
          leaving.set(name, leave);
        },
        (error: { code: string }) => void failed.push(`${name} ${error.code}`),
      );
  const leave = async (name: string) => {
    leaving.get(name)?.();
    await turn();
  };
  return { clock, began, failed, gone, enter, leave };
}

test('four large pages are loaded concurrently, at most two of one account', async () => {
  const { began, enter, leave } = slots();
  for (const name of ['a1', 'a2', 'a3']) void enter(name, 1);
  for (const name of ['b1', 'b2', 'b3']) void enter(name, 2);
  void enter('c1', 3);
  await turn();
  assert.deepEqual(began, ['a1', 'a2', 'b1', 'b2']);
  await leave('a1');
  assert.deepEqual(began.slice(4), ['a3']);
  await leave('b1');
  await leave('b2');
  assert.deepEqual(began.slice(5), ['b3', 'c1']);
});

test('accounts are served round-robin, regardless of how many pages each requests', async () => {
  const { began, enter, leave } = slots();
  for (let index = 1; index <= 6; index += 1) void enter(`a${index}`, 1);
  void enter('x1', 8);
  void enter('x2', 9);
  await turn();
  assert.deepEqual(began, ['a1', 'a2', 'x1', 'x2']);
  void enter('b1', 2);
  void enter('c1', 3);
  await leave('x1');
  assert.deepEqual(began.at(-1), 'b1', 'account 1 has its two');
  await leave('a1');
  await leave('a2');
  assert.deepEqual(began.slice(5), ['a3', 'c1'], 'an account that had its turn is behind the others');
});

test('a page that has waited for more than ten seconds is rejected, and so is one whose client has disconnected', async () => {
  const { clock, began, failed, gone, enter, leave } = slots();
  for (const name of ['a1', 'a2', 'late', 'gone', 'next']) {
    void enter(name, 1);
    if (name === 'late') await clock.advance(10_001);
  }
  gone.add('gone');
  await turn();
  await leave('a1');
  assert.deepEqual(began, ['a1', 'a2', 'next']);
  assert.deepEqual(failed, ['late overloaded', 'gone overloaded']);
});
