import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from './port.ts';

test('the same port is never returned to two callers before one of them listens', async () => {
  const given = new Set<number>();
  while (given.size < 1_000) {
    const port = await freePort();
    assert.ok(!given.has(port), `${port} was given twice, of ${given.size}`);
    given.add(port);
  }
});
