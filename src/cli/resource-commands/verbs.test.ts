import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programOf } from '../commands.ts';
import { rowsByResourceType, verbsOf } from './verbs.ts';

/** Resources without a command of their own, since operator commands have the same names. */
const ON_THE_DATABASE = ['users', 'keys'];

test('every resource has a command, and every route a subcommand with a flag for each field', async () => {
  const program = await programOf(() => true);
  for (const [resourceType, rows] of rowsByResourceType) {
    if (ON_THE_DATABASE.includes(resourceType)) continue;
    const command = program.commands.find((one) => one.name() === resourceType.replaceAll('_', '-'));
    assert.ok(command !== undefined, `${resourceType}: a row in src/cli/commands.ts`);
    const verbs = verbsOf(resourceType);
    assert.deepEqual([...new Set(verbs.map(({ row }) => row))], rows);
    assert.equal(
      new Set(verbs.map(({ word }) => word)).size,
      verbs.length,
      `${resourceType}: ${verbs.map(({ word }) => word)}`,
    );
    for (const { word, row, sends } of verbs) {
      const flags: unknown[] =
        command.commands.find((one) => one.name() === word)?.options.map(({ long }) => long) ?? [];
      const fields = Object.keys({ ...row.parameters, ...(sends === undefined ? (row.body?.properties ?? {}) : {}) });
      const missing = fields.filter((field) => !flags.includes(`--${field.replaceAll('_', '-')}`));
      assert.deepEqual(missing, [], `${resourceType} ${word}`);
    }
  }
});

test('path segments after an id are part of the subcommand, and completable resources have complete and resume', () => {
  const wordsOf = (resourceType: string) => verbsOf(resourceType).map(({ word }) => word);
  assert.deepEqual(wordsOf('tasks'), ['list', 'create', 'show', 'update', 'complete', 'resume', 'delete']);
  assert.deepEqual(wordsOf('deliveries'), ['list', 'show', 'redeliver']);
  for (const word of ['create', 'restore', 'test']) assert.ok(wordsOf('hooks').includes(word), word);
  assert.deepEqual([wordsOf('user'), wordsOf('company'), wordsOf('notifications')], [['show'], ['show'], ['list']]);
});
