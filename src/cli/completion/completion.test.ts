import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTemporaryFolder } from '../../../test/kit/service/service.ts';
import { createProgram } from '../commands.ts';
import { completionScripts, suggestWords } from './completion.ts';

const main = fileURLToPath(new URL('../../main.ts', import.meta.url));
const program = await createProgram(() => true);
const words = (...typed: string[]) => suggestWords(program, typed).map(({ word }) => word);

test('commands, flags and values are suggested at their positions, from the registered commands', () => {
  assert.deepEqual(words('de'), ['deliveries']);
  assert.deepEqual(words('deliveries', ''), ['list', 'show', 'redeliver']);
  assert.deepEqual(words('tasks', 'list', '--st'), ['--status']);
  assert.deepEqual(words('tasks', 'list', '--status', 'o'), ['open', 'onhold']);
  assert.deepEqual(words('tasks', 'list', '--status=o'), ['--status=open', '--status=onhold']);
  assert.deepEqual(words('tasks', 'list', '--limit', ''), []);
  assert.deepEqual(words('tasks', 'list', '--domain', 'acme.test', '--li'), ['--limit']);
  assert.deepEqual(words('listen', '--kinds', 'new_task,new_t'), []);
  assert.deepEqual(words('listen', '--kinds', 'new_task,new_e'), ['new_task,new_event']);
  assert.deepEqual(words('completion', ''), ['bash', 'zsh', 'fish']);
});

test('bash completes with it and evaluates nothing that was typed', async (t) => {
  const folder = createTemporaryFolder(t);
  const command = join(folder, 'carillon');
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  chmodSync(command, 0o755);
  writeFileSync(join(folder, 'script'), completionScripts.bash);
  const made = join(folder, 'made');
  // Words as bash passes them when Tab is pressed: split at its word breaks, with the cursor at the last word.
  const asked = [
    ['carillon', 'hooks', 'rest'],
    ['carillon', 'tasks', 'list', '--status', '=', 'op'],
    ['carillon', 'tasks', 'list', '--domain', `$(touch ${made})`, '--of'],
  ];
  const lines = asked.map(
    (typed) =>
      `COMP_WORDS=(${typed.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${typed.length - 1}; _carillon carillon; echo "\${COMPREPLY[*]}"`,
  );
  const script = `set -e; . ${folder}/script; complete -p carillon; ${lines.join('; ')}; ls ${folder}`;
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script], {
    env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
  });
  assert.deepEqual(stdout.trim().split('\n'), [
    'complete -o bashdefault -o default -F _carillon carillon',
    'restore',
    'open',
    '--offset',
    'carillon',
    'script',
  ]);
});
