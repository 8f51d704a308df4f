import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WriteOutages } from './faults.ts';

test('results stay uncommitted longer only while the service cannot write', () => {
  const outages = new WriteOutages();
  const calmMs = outages.settlesWithinMs(0);
  assert.ok(calmMs < 10, 'an instant');
  outages.add(1_000);
  outages.add(1_500);
  outages.add(9_000, 20_000);
  assert.equal(outages.settlesWithinMs(100), calmMs);
  assert.ok(1_000 + outages.settlesWithinMs(1_000) > 2_000, 'retried, and once more');
  assert.ok(1_200 + outages.settlesWithinMs(1_200) > 2_000, 'after a failed write');
  assert.equal(outages.settlesWithinMs(5_000), calmMs);
  assert.ok(10_000 + outages.settlesWithinMs(10_000) > 20_000, 'while the process is paused');
});
