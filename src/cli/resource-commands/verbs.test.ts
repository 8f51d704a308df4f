import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgram } from '../commands.ts';
import { routesByResourceType, verbsOf } from './verbs.ts';

/** Resources without a command of their own, since operator commands have the same names. */
const OPERATOR_COMMAND_NAMES = ['users', 'keys'];

test('every resource has a command, and every route a subcommand with a flag for each field', async () => {
  const program = await createProgram(() => true);
  for (const [resourceType, rows] of routesByResourceType) {
    if (OPERATOR_COMMAND_NAMES.includes(resourceType)) continue;
    const command = program.commands.find((one) => one.name() === resourceType.replaceAll('_', '-'));
    assert.ok(command !== undefined, `${resourceType}: a row in src/cli/commands.ts`);
    const verbs = verbsOf(resourceType);
    assert.deepEqual([...new Set(verbs.map(({ route }) => route))], rows);
    assert.equal(
      new Set(verbs.map(({ commandName }) => commandName)).size,
      verbs.length,
      `${resourceType}: ${verbs.map(({ commandName }) => commandName)}`,
    );
    for (const { commandName, route, fixedBody } of verbs) {
      const flags: unknown[] =
        command.commands.find((one) => one.name() === commandName)?.options.map(({ long }) => long) ?? [];
      const fields = Object.keys({
        ...route.parameters,
        ...(fixedBody === undefined ? (route.bodySchema?.properties ?? {}) : {}),
      });
      const missing = fields.filter((field) => !flags.includes(`--${field.replaceAll('_', '-')}`));
      assert.deepEqual(missing, [], `${resourceType} ${commandName}`);
    }
  }
});

test('path segments after an id are part of the subcommand, and completable resources have complete and resume', () => {
  const wordsOf = (resourceType: string) => verbsOf(resourceType).map(({ commandName }) => commandName);
  assert.deepEqual(wordsOf('tasks'), ['list', 'create', 'show', 'update', 'complete', 'resume', 'delete']);
  assert.deepEqual(wordsOf('deliveries'), ['list', 'show', 'redeliver']);
  for (const word of ['create', 'restore', 'test']) assert.ok(wordsOf('hooks').includes(word), word);
  assert.deepEqual([wordsOf('user'), wordsOf('company'), wordsOf('notifications')], [['show'], ['show'], ['list']]);
});
