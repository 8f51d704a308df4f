import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from '../../../test/kit/cleanup.ts';
import { openStoreAt } from '../../../test/kit/database/database.ts';
import { runCarillon, runCarillonJson } from '../../../test/kit/service/command.ts';
import { fillAccount } from '../../../test/kit/service/full-accounts.ts';
import { createTemporaryFolder } from '../../../test/kit/service/service.ts';
import { everyStore } from '../../../test/kit/service/stores.ts';

for (const { test, database } of everyStore) {
  /** Creates a database with one account, and a folder for files. */
  async function createFilledDatabase(t: Cleanup) {
    const from = await database(t);
    const store = await openStoreAt(t, from);
    await fillAccount(store, 'acme.test', { accountId: 1, first: 2_001, count: 2 });
    await store.close();
    return { from, folder: createTemporaryFolder(t) };
  }

  test('an export is readable only by its owner, complete under its name, and overwrites nothing', async (t) => {
    const { from, folder } = await createFilledDatabase(t);
    const path = join(folder, 'all.jsonl');
    writeFileSync(`${path}.part`, 'what was left of one that was cut off', { mode: 0o644 });
    const done = await runCarillon(['export', '--database', from, '--to', path]);
    assert.deepEqual([done.code, done.stderrLines], [0, []]);
    assert.match(done.stdout, /^accounts: 1\npositions: 1\nusers: 2\n.*\nrows: 52\nsha256: [0-9a-f]{64}\n$/s);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder), ['all.jsonl']);
    assert.equal(readFileSync(path, 'utf8').trimEnd().split('\n').length, 54);

    const again = await runCarillon(['export', '--database', from, '--to', path]);
    assert.deepEqual([again.code, again.stdout, again.stderrLines], [1, '', [`${path} already exists.`]]);
    const nowhere = await runCarillon(['export', '--database', from, '--to', join(folder, 'no', 'folder.jsonl')]);
    assert.deepEqual([nowhere.code, nowhere.stderrLines.length], [1, 1]);
    assert.match(nowhere.stderrLines[0] ?? '', /folder\.jsonl cannot be written: ENOENT/);
    const unknown = join(folder, 'unknown.jsonl');
    const nobody = await runCarillon(['export', '--database', from, '--domain', 'no.test', '--to', unknown]);
    assert.deepEqual([nobody.code, nobody.stderrLines], [1, ['There is no account with the domain no.test.']]);
    assert.equal(existsSync(unknown), false);
    assert.deepEqual(readdirSync(folder), ['all.jsonl']);
  });

  test('an export to standard output is the file itself; the summary goes to standard error', async (t) => {
    const { from, folder } = await createFilledDatabase(t);
    const { stdout, stderrLines } = await runCarillon(['export', '--database', from, '--to', '-', '--json', '--quiet']);
    const path = join(folder, 'out.jsonl');
    writeFileSync(path, stdout);
    const [summary = '', ...more] = stderrLines;
    assert.deepEqual(more, []);
    const into = await database(t);
    const imported = await runCarillonJson(['import', '--database', into, '--from', path, '--quiet']);
    assert.deepEqual(imported, JSON.parse(summary));
    assert.deepEqual([imported.rows, imported.tables.events], [52, 2]);
  });

  test('an import reports missing flags in one line, and --undo that there is nothing to undo', async (t) => {
    const into = await database(t);
    const mistakes: [string[], RegExp][] = [
      [[], /^Give --from with a file that carillon export wrote, or --from-api with another service\.$/],
      [['--from', '/nowhere/x.jsonl'], /^\/nowhere\/x\.jsonl cannot be read: ENOENT/],
      [['--undo'], /^There is no incomplete import\.$/],
    ];
    for (const [args, fault] of mistakes) {
      const { code, stdout, stderrLines } = await runCarillon(['import', '--database', into, ...args]);
      assert.deepEqual([code, stdout, stderrLines.length], [1, '', 1]);
      assert.match(stderrLines[0] ?? '', fault);
    }
  });
}
