import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { testClock } from '../../../test/kit/clock.ts';
import { temporaryFolder } from '../../../test/kit/service/service.ts';
import { CliError } from '../output/screen.ts';
import { cursorFileOf, readCursor, saveCursor } from './cursor-file.ts';
import { pause } from './feed.ts';

const listener = {
  service: 'http://127.0.0.1:8080',
  domain: 'acme.test',
  user_id: '1',
  forward_to: '',
  kinds: '',
  scope: '',
};
const mark = { cursor: '42', occurred_at: '2027-03-01 09:14:02' };

test('X2 listeners with different filters have separate cursors', () => {
  const different = ['service', 'domain', 'user_id', 'forward_to', 'kinds', 'scope'] as const;
  const files = different.map((name) => cursorFileOf({ ...listener, [name]: 'new_task' }));
  assert.equal(new Set([cursorFileOf(listener), ...files]).size, 7);
});

test('an invalid cursor file is an error in one line, which says how to continue and does not quote the file', (t) => {
  const file = join(temporaryFolder(t), 'cursor.json');
  assert.equal(readCursor(file, listener), undefined);
  saveCursor(file, listener, mark);
  assert.deepEqual(readCursor(file, listener), mark);

  const { service, domain, user_id } = listener;
  const ownerless = JSON.stringify({ cursor: '42' });
  const long = JSON.stringify({ service, domain, user_id, cursor: '9'.repeat(20) });
  for (const text of ['', 'carillon_secret\n', '{}', 'null', '[]', '"42"', ownerless, long]) {
    writeFileSync(file, text);
    const line = `${file} contains no cursor of carillon listen: start with --from-now, --from-oldest or --after to replace it.`;
    assert.throws(() => readCursor(file, listener), { name: 'CliError', lines: [line] }, text);
  }
  writeFileSync(file, JSON.stringify({ service, domain, user_id, cursor: '42' }));
  assert.deepEqual(readCursor(file, listener), { cursor: '42', occurred_at: '' });
});

test('a failed write is an error and leaves no file behind', (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'taken', 'x'), { recursive: true });
  assert.throws(() => saveCursor(join(folder, 'taken'), listener, mark), CliError);
  assert.deepEqual(readdirSync(folder), ['taken']);
});

test('a wait aborted by the signal leaves no timer behind', async () => {
  const clock = testClock();
  const { signal } = new AbortController();
  let listeners = 0;
  const counted = Object.assign(Object.create(signal), {
    throwIfAborted: () => undefined,
    addEventListener: () => (listeners += 1),
    removeEventListener: () => (listeners -= 1),
  });
  const waiting = pause(clock, 1_000, counted);
  assert.equal(listeners, 1);
  await clock.advance(1_000);
  await waiting;
  assert.equal(listeners, 0);
});
