import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from './load.ts';
import type { OptionName } from './options.ts';

/** The errors of one option value; empty if it is valid. */
function errorsOf(name: OptionName, text: string): readonly string[] {
  const loaded = loadConfig({ flags: { [name]: text }, environment: {} });
  return 'faults' in loaded ? loaded.faults : [];
}

test('paths that SQLite does not treat as a file are rejected in one line', () => {
  const line = '--database must be sqlite: and the path of a file, such as sqlite:data/carillon.db, or postgres://….';
  const wrong = ['', 'sqlite', 'sqlite:', 'sqlite: ', 'sqlite::memory:', 'sqlite: :memory: ', 'sqlite:file:x'];
  for (const text of [...wrong, 'sqlite:file:x?mode=memory', 'sqlite:file::memory:', 'mysql:x', 'data/carillon.db'])
    assert.deepEqual(errorsOf('database', text), [line], text);
  for (const text of ['sqlite:x', 'sqlite:./file:x', 'sqlite:/srv/a b.db', 'sqlite:memory'])
    assert.deepEqual(errorsOf('database', text), [], text);
});

test('C18 retry delays are two durations of at most a year', () => {
  const line = '--retry-waits must be two durations of at most 365d, such as 1m,2h.';
  const wrong = ['', '1m', '1m,', ',2h', '1m,2h,3h', '1m;2h', '-1m,2h', '1m,1y', 'soon,later'];
  for (const text of [...wrong, '366d,2h', '1m,366d', '8761h,2h', '1m,99999999999999999999d'])
    assert.deepEqual(errorsOf('retryWaits', text), [line], text);
  for (const text of ['365d,365d', '0s,0s', '50ms,100ms', '1m, 2h'])
    assert.deepEqual(errorsOf('retryWaits', text), [], text);
});
