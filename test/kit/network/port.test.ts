import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFreePort } from './port.ts';

test('the same port is never returned to two callers before one of them listens', async () => {
  const returnedPorts = new Set<number>();
  while (returnedPorts.size < 1_000) {
    const port = await findFreePort();
    assert.ok(!returnedPorts.has(port), `${port} was given twice, of ${returnedPorts.size}`);
    returnedPorts.add(port);
  }
});
