import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextIteration } from '../routes/page-slices.ts';
import { ConnectionBurst } from './connection-burst.ts';

function burstAt() {
  const time = { ms: 0 };
  const ran: string[] = [];
  const burst = new ConnectionBurst({ monotonic: () => time.ms });
  return { time, ran, burst, postpone: (name: string) => burst.whenOver(() => ran.push(name)) };
}

test('a job runs immediately without a burst, and after an iteration without a new connection during one', async () => {
  const { burst, ran, postpone } = burstAt();
  postpone('before');
  assert.deepEqual(ran, ['before']);
  burst.onAccepted();
  postpone('first');
  for (let accepted = 0; accepted < 5; accepted += 1) {
    burst.onAccepted();
    await nextIteration();
  }
  postpone('second');
  assert.deepEqual(ran, ['before']);
  await nextIteration();
  assert.deepEqual(ran, ['before', 'first', 'second']);
  postpone('after');
  assert.equal(ran.at(-1), 'after');
});

test('a burst without end delays a job by 500 ms, and only those that waited so long', async () => {
  const { time, burst, ran, postpone } = burstAt();
  const accept = async () => {
    burst.onAccepted();
    await nextIteration();
  };
  burst.onAccepted();
  postpone('first');
  time.ms = 200;
  postpone('second');
  time.ms = 499;
  await accept();
  assert.deepEqual(ran, []);
  time.ms = 500;
  await accept();
  assert.deepEqual(ran, ['first']);
  time.ms = 700;
  await accept();
  assert.deepEqual(ran, ['first', 'second']);
});
