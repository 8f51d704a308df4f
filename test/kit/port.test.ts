import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freePort } from './port.ts';

test('nobody is given a port that somebody else was given and does not listen on yet', async () => {
  const given = new Set<number>();
  while (given.size < 1_000) {
    const port = await freePort();
    assert.ok(!given.has(port), `${port} was given twice, of ${given.size}`);
    given.add(port);
  }
});
