import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from './random.ts';
import { createScript, parseScript } from './script.ts';

/** Runs a script and returns the slugs of the first `count` connections. */
function slugsOf(text: string, count: number, seed = 1): readonly string[] {
  const steps = parseScript(text);
  assert.ok(!('error' in steps), text);
  const script = createScript(steps, seededRandom(seed));
  return Array.from({ length: count }, () => script.nextBehaviour().slug);
}

test('a script runs step by step and starts again, or repeats its last step forever', () => {
  assert.deepEqual(slugsOf('503*2,200', 4), ['503', '503', '200', '503']);
  assert.deepEqual(slugsOf('hang, 200*', 4), ['hang', '200', '200', '200']);
});

test('a random step follows the seed', () => {
  assert.deepEqual(new Set(slugsOf('200|503|499', 60)), new Set(['200', '503', '499']));
  assert.deepEqual(slugsOf('random', 20, 7), slugsOf('random', 20, 7));
  assert.notDeepEqual(slugsOf('random', 20, 7), slugsOf('random', 20, 8));
});

test('an invalid script gives an error, with similar names for an unknown behaviour', () => {
  const errors: readonly (readonly [string, RegExp])[] = [
    ['', /invalid step \(empty\)/],
    ['200,,503', /invalid step \(empty\)/],
    ['200*0', /invalid step 200\*0/],
    ['200*,503', /only the last step/],
    ['200|', /invalid step 200\|/],
    ['Hangs', /unknown behaviour Hangs \(similar: hang/],
    ['tls-expird', /unknown behaviour tls-expird \(similar: tls-expired/],
    ['drip', /unknown behaviour drip \(similar: tls-drip, drip-head/],
    ['199', /unknown behaviour 199/],
  ];
  for (const [text, error] of errors) {
    const parsed = parseScript(text);
    assert.match('error' in parsed ? parsed.error : '', error, text);
  }
});
