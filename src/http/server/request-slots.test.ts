import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyReply } from 'fastify';
import { createTestClock } from '../../../test/kit/clock.ts';
import { sqlite } from '../../../test/kit/service/stores.ts';
import { Quota } from '../../async/quota.ts';
import { type Clock, systemClock } from '../../clock.ts';
import { ActiveRequests } from './request-slots.ts';

test('C20 a stopped service has no pending timers, so its process can exit immediately', async (t) => {
  const waiting = new Set<string>();
  const clock: Clock = {
    ...systemClock,
    after(waitMs, run) {
      const by = new Error(`${waitMs} ms`).stack ?? '';
      waiting.add(by);
      const cancel = systemClock.after(waitMs, () => {
        waiting.delete(by);
        run();
      });
      return () => {
        waiting.delete(by);
        cancel();
      };
    },
  };
  const carillon = await sqlite.testService(t, { deps: { clock } });
  const owner = await carillon.createAccount('acme.test');
  await owner.carillon.events.list();
  await carillon.stop();
  assert.deepEqual([...waiting], []);
});

test('a request holds a slot until it leaves, and times out unless its response was sent', async () => {
  const clock = createTestClock();
  const givenUp: FastifyReply[] = [];
  const activeRequests = new ActiveRequests(clock, 30_000, (reply) => givenUp.push(reply));
  const slots = new Quota({ maxTotal: 2 });
  const reply = (sent = false) => ({ sent }) as FastifyReply;
  const [first, second, third] = [reply(), reply(true), reply()];
  const owner = { group: 1 };
  assert.deepEqual(
    [first, second, third].map((one) => activeRequests.acquire(one, slots, owner)),
    [true, true, false],
  );
  await clock.advance(30_000);
  assert.deepEqual([givenUp, slots.usedAmount], [[], 2]);
  await clock.advance(1_000);
  assert.deepEqual([givenUp, slots.usedAmount, clock.remainingDelaysMs], [[first], 0, []]);
  assert.equal(activeRequests.acquire(third, slots, owner), true);
  activeRequests.release(third);
  activeRequests.release(third);
  await clock.advance(60_000);
  assert.deepEqual([givenUp.length, slots.usedAmount], [1, 0]);
});
