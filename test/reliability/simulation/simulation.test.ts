import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quick } from '../smoke.ts';
import { Troubles } from './fault-schedule.ts';
import { simulation } from './simulation.ts';

quick(simulation);

test('only while something could not be written is it in doubt what was', () => {
  const troubles = new Troubles();
  const calmMs = troubles.settlesWithinMs(0);
  assert.ok(calmMs < 10, 'an instant');
  troubles.note(1_000);
  troubles.note(1_500);
  troubles.note(9_000, 20_000);
  assert.equal(troubles.settlesWithinMs(100), calmMs);
  assert.ok(1_000 + troubles.settlesWithinMs(1_000) > 2_000, 'tried again, and once more');
  assert.ok(1_200 + troubles.settlesWithinMs(1_200) > 2_000, 'behind what could not be written');
  assert.equal(troubles.settlesWithinMs(5_000), calmMs);
  assert.ok(10_000 + troubles.settlesWithinMs(10_000) > 20_000, 'without a turn');
});
