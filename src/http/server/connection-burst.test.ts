import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextIteration } from '../routes/page-slices.ts';
import { ConnectionBurst } from './connection-burst.ts';

function burstAt() {
  const time = { ms: 0 };
  const ran: string[] = [];
  const burst = new ConnectionBurst({ monotonic: () => time.ms });
  return {
    time,
    ran,
    burst,
    postpone: (name: string, maxDelayMs = 500) => burst.whenOver(maxDelayMs, () => ran.push(name)),
  };
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

test('a burst without end delays each job by its maximum delay', async () => {
  const { time, burst, ran, postpone } = burstAt();
  const acceptAt = async (ms: number) => {
    time.ms = ms;
    burst.onAccepted();
    await nextIteration();
    return ran.length;
  };
  burst.onAccepted();
  postpone('first');
  time.ms = 200;
  postpone('second');
  postpone('urgent', 20);
  assert.deepEqual([await acceptAt(219), await acceptAt(220)], [0, 1]);
  assert.deepEqual([await acceptAt(499), await acceptAt(500)], [1, 2]);
  assert.deepEqual([await acceptAt(699), await acceptAt(700)], [2, 3]);
  assert.deepEqual(ran, ['urgent', 'first', 'second']);
});
