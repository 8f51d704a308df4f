import assert from 'node:assert/strict';
import { test } from 'node:test';
import { benches } from '../../bench/benches.ts';
import { resultOf as measured } from '../../bench/results.ts';
import { judge } from '../../bench/thresholds.ts';
import { proofs } from '../reliability/index.ts';
import { resultOf as proved } from '../reliability/results.ts';

/** Ids of rows that miss a limit without a stated reason. */
function withoutReason(rows: readonly { id: string; isMissed: boolean; heldBack?: string | undefined }[]): string[] {
  return rows.filter(({ isMissed, heldBack }) => isMissed && heldBack === undefined).map(({ id }) => id);
}

test('a failing reliability test states the reason', () => {
  const rows = proofs.map((proof) => ({ ...proof, isMissed: (proved(proof)?.broken.length ?? 0) > 0 }));
  assert.deepEqual(withoutReason(rows), []);
});

test('a performance row that misses a limit states the reason', () => {
  const rows = benches.map((bench) => {
    const result = measured(bench);
    return {
      ...bench,
      isMissed: result !== undefined && judge(result).some(({ holds }) => !holds),
    };
  });
  assert.deepEqual(withoutReason(rows), []);
});

test('the check detects a row that misses a limit without a reason', () => {
  const missed = { id: 'R0', isMissed: true };
  assert.deepEqual(withoutReason([missed, { ...missed, heldBack: 'the disk' }, { id: 'R00', isMissed: false }]), [
    'R0',
  ]);
});
