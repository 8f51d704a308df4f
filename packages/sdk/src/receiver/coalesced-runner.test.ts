import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rounds } from './coalesced-runner.ts';

test('a caller gets a run that begins after the call; calls during a run share the next one', async () => {
  const begun: PromiseWithResolvers<void>[] = [];
  const round = rounds(() => {
    const one = Promise.withResolvers<void>();
    begun.push(one);
    return one.promise;
  });
  const over: string[] = [];
  const ask = (name: string) =>
    round.ask().then(
      () => over.push(name),
      (error: Error) => over.push(`${name}: ${error.message}`),
    );
  const first = ask('a');
  await Promise.resolve();
  assert.equal(begun.length, 1);
  const later = [ask('b'), ask('c')];
  begun[0]?.reject(new Error('broken'));
  await first;
  assert.deepEqual([begun.length, over], [2, ['a: broken']]);
  begun[1]?.resolve();
  await Promise.all(later);
  await round.settled();
  assert.deepEqual([begun.length, over], [2, ['a: broken', 'b', 'c']]);
});
