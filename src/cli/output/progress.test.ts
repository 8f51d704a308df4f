import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestClock } from '../../../test/kit/clock.ts';
import { createProgress } from './progress.ts';
import { Output } from './screen.ts';

function screenOf(isTTY: boolean, columns?: number): { screen: Output; said: string[] } {
  const said: string[] = [];
  const write = (text: string) => void said.push(text);
  return { screen: new Output(columns === undefined ? { isTTY, write } : { isTTY, columns, write }), said };
}

test('on a terminal: one line, redrawn at most ten times a second, with percentage, rate and time left', async () => {
  const clock = createTestClock();
  const { screen, said } = screenOf(true, 100);
  const progress = createProgress(screen, clock);
  progress.begin('import', 1_000_000);
  progress.advance(10);
  assert.deepEqual(said, [], 'too soon');
  await clock.advance(2_000);
  progress.advance(249_990);
  progress.advance(1);
  assert.deepEqual(said, [
    `\rimport:  25 % ${'█'.repeat(8)}${'░'.repeat(23)} 250,000 of 1,000,000 rows, 125,000 rows/s, 6.0 s left\x1b[K`,
  ]);
  await clock.advance(6_000);
  progress.advance(749_999);
  progress.end();
  assert.equal(
    said[1],
    `\rimport: 100 % ${'█'.repeat(29)} 1,000,000 of 1,000,000 rows, 125,000 rows/s, 0.0 s left\x1b[K`,
  );
  assert.equal(said[2], '\rimport: 1,000,000 rows in 8.0 s\x1b[K\n');
});

test('a narrow terminal has a shorter bar or none, and the text never wraps', async () => {
  const lengths = [];
  for (const columns of [90, 74, 40]) {
    const clock = createTestClock();
    const { screen, said } = screenOf(true, columns);
    const progress = createProgress(screen, clock);
    progress.begin('import', 1_000_000);
    await clock.advance(1_000);
    progress.advance(500_000);
    const text = said[0]?.slice('\r'.length, -'\x1b[K'.length) ?? '';
    lengths.push(text.replace(/[^█░]/g, '').length);
    assert.ok(text.length < columns, text);
  }
  assert.deepEqual(lengths, [21, 5, 0]);
});

test('elsewhere: a plain line every five seconds, and none for a stage that ends earlier', async () => {
  const clock = createTestClock();
  const { screen, said } = screenOf(false);
  const progress = createProgress(screen, clock);
  progress.begin('checking the file', 0);
  await clock.advance(4_000);
  progress.advance(5);
  progress.end();
  assert.deepEqual(said, []);
  progress.begin('import', 400_000);
  await clock.advance(5_000);
  progress.advance(1_000);
  await clock.advance(4_999);
  progress.advance(1_000);
  await clock.advance(3_600_000);
  progress.advance(1_000);
  progress.end();
  assert.deepEqual(said, [
    'import:   0 % 1,000 of 400,000 rows, 200 rows/s, 33 min 15 s left\n',
    'import:   0 % 3,000 of 400,000 rows, 1 rows/s, 132 h 42 min left\n',
    'import: 3,000 rows in 1 h 00 min\n',
  ]);
});

test('without a known total it shows the count so far', async () => {
  const clock = createTestClock();
  const { screen, said } = screenOf(true, 80);
  const progress = createProgress(screen, clock);
  progress.begin('checking the file', 0);
  await clock.advance(1_000);
  progress.advance(1_234_567);
  assert.deepEqual(said, ['\rchecking the file: 1,234,567 rows, 1,234,567 rows/s\x1b[K']);
});
