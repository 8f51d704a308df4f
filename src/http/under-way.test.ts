import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sqlite } from '../../test/harness/stores.ts';
import { type Clock, systemClock } from '../clock.ts';

test('C20 a service that was stopped waits for nothing any more: its process may end at once', async (t) => {
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
  const carillon = await sqlite.testService(t, { ports: { clock } });
  const owner = await carillon.account('acme.test');
  await owner.carillon.events.list();
  await carillon.stop();
  assert.deepEqual([...waiting], []);
});
