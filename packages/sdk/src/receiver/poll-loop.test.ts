import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { coalesce, startPollLoop } from './poll-loop.ts';
import { after } from './signature.ts';

test('polls are periodic; after a failure they are retried with a backoff of up to a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let looks = 0;
  let isWell = true;
  const watching = startPollLoop(async () => {
    looks += 1;
    if (!isWell) throw new Error('not now');
  }, 300_000);
  /** Whether the next poll happens after exactly this time, and not earlier. */
  async function comesAfter(waitMs: number): Promise<boolean> {
    const before = looks;
    t.mock.timers.tick(waitMs - 1);
    const early = looks - before;
    t.mock.timers.tick(1);
    await turn();
    return early === 0 && looks === before + 1;
  }
  watching.soon();
  t.mock.timers.tick(1_000_000);
  assert.equal(looks, 0, 'none before it has begun');
  watching.begin();
  assert.ok(await comesAfter(300_000));
  isWell = false;
  assert.ok(await comesAfter(300_000));
  for (const waitS of [2, 4, 8, 16, 32, 60, 60]) assert.ok(await comesAfter(waitS * 1_000), `${waitS} s`);
  isWell = true;
  assert.ok(await comesAfter(60_000));
  watching.soon();
  t.mock.timers.tick(500);
  watching.soon();
  assert.ok(await comesAfter(500), 'what is due soon is not put off');
  watching.end();
  t.mock.timers.tick(1_000_000);
  await turn();
  assert.equal(looks, 11);
});

test('polls never overlap; a failure during a poll causes another one soon', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const looks: PromiseWithResolvers<void>[] = [];
  const watching = startPollLoop(() => {
    const one = Promise.withResolvers<void>();
    looks.push(one);
    return one.promise;
  }, 0);
  watching.begin();
  watching.soon();
  for (let second = 0; second < 3_600; second += 1) {
    t.mock.timers.tick(1_000);
    watching.soon();
  }
  assert.equal(looks.length, 1);
  looks[0]?.resolve();
  await turn();
  t.mock.timers.tick(1_000);
  assert.equal(looks.length, 2, 'nothing that went wrong is forgotten');
  looks[1]?.resolve();
  await turn();
  t.mock.timers.tick(1_000_000);
  assert.equal(looks.length, 2);
});

test('an interval beyond the timer limit is clamped, and does not fire immediately', (t) => {
  const waits: unknown[] = [];
  t.mock.method(globalThis, 'setTimeout', (_: () => void, waitMs: number) => waits.push(waitMs));
  after(2 ** 40, () => undefined);
  assert.deepEqual(waits, [2 ** 31 - 1]);
});

test('a caller gets a run that begins after the call; calls during a run share the next one', async () => {
  const begun: PromiseWithResolvers<void>[] = [];
  const round = coalesce(() => {
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
