import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeldBack } from '../../bench/bench.ts';
import { benches } from '../../bench/benches.ts';
import { judge } from '../../bench/judged.ts';
import { resultOf as measured } from '../../bench/results.ts';
import { proofs } from '../../proof/proofs.ts';
import { resultOf as proved } from '../../proof/results.ts';

/** Of rows, those that miss what they must show and do not say why. */
function silent(rows: readonly { id: string; isMissed: boolean; heldBack?: string | undefined }[]): string[] {
  return rows.filter(({ isMissed, heldBack }) => isMissed && heldBack === undefined).map(({ id }) => id);
}

test('a proof that does not hold says what holds it back', () => {
  const rows = proofs.map((proof) => ({ ...proof, isMissed: (proved(proof)?.broken.length ?? 0) > 0 }));
  assert.deepEqual(silent(rows), []);
});

test('a figure that is missed says what holds it back, by a profile that is kept, and what would be tried next', () => {
  const rows = benches.map((bench) => {
    const result = measured(bench);
    return {
      ...bench,
      heldBack: bench.heldBack?.says,
      isMissed: result !== undefined && judge(result).some(({ holds }) => !holds),
    };
  });
  assert.deepEqual(silent(rows), []);
  const profiles = new Set(measured({ id: 'W' })?.series.map(({ unit }) => unit));
  assert.deepEqual(
    benches.flatMap(({ id, heldBack }) => (heldBack ? baseless(id, heldBack, profiles) : [])),
    [],
  );
});

/** What of a row rests on nothing: on a profile that is not there, or on none; and an idea that promises nothing. */
function baseless(id: string, { shownBy, next }: HeldBack, profiles: ReadonlySet<string>): string[] {
  return [
    ...shownBy.filter((one) => !profiles.has(`µs of ${one}`)).map((one) => `${id}: no profile of ${one}`),
    ...(shownBy.length === 0 ? [`${id}: no profile`] : []),
    ...(next.length === 0 ? [`${id}: no idea`] : []),
    ...next.filter(({ gain }) => !/\d/.test(gain)).map(({ idea }) => `${id}: what does it bring, ${idea}?`),
  ];
}

test('a row without a profile, and an idea without a gain, are named', () => {
  const held = { says: '', shownBy: ['fetch'], next: [{ idea: 'less', gain: '× 1.1' }] };
  const profiles = new Set(['µs of fetch']);
  assert.deepEqual(baseless('P0', held, profiles), []);
  assert.deepEqual(baseless('P0', { ...held, shownBy: ['list'] }, profiles), ['P0: no profile of list']);
  assert.deepEqual(baseless('P0', { ...held, shownBy: [] }, profiles), ['P0: no profile']);
  assert.deepEqual(baseless('P0', { ...held, next: [] }, profiles), ['P0: no idea']);
  const vague = { ...held, next: [{ idea: 'less', gain: 'much' }] };
  assert.deepEqual(baseless('P0', vague, profiles), ['P0: what does it bring, less?']);
});

test('a row that misses and is silent is named', () => {
  const missed = { id: 'R0', isMissed: true };
  assert.deepEqual(silent([missed, { ...missed, heldBack: 'the disk' }, { id: 'R00', isMissed: false }]), ['R0']);
});
