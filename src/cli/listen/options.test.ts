import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Command } from 'commander';
import { addListen } from '../client/listen.ts';
import { readSettings } from './options.ts';

/** The error lines, before any connection is made. */
async function refusedBy(...args: string[]): Promise<string> {
  const program = new Command('carillon').exitOverride().configureOutput({ outputError: () => undefined });
  addListen(program);
  const ended = program.parseAsync(['listen', ...args], { from: 'user' });
  return ended.then(
    () => '',
    (error: Error) => error.message,
  );
}

test('invalid flags of listen are errors that name the flag', async () => {
  const mistakes: [string[], RegExp][] = [
    [['--kinds', 'new_task,nothing'], /^--kinds: nothing is not one of completed_subtask, /],
    [['--kinds', 'changed_task'], /^--kinds: changed_task is not one of/],
    [['--forward-to', 'ftp://127.0.0.1/'], /^--forward-to must be an http or https address/],
    [['--forward-to', 'http://somebody:secret@127.0.0.1/'], /^--forward-to must be an http or https address[^@]*$/],
    [['--after', 'x'], /^--after must be a cursor; x is not one\.$/],
    [['--after', '1', '--from-now'], /cannot be used with option/],
    [['--from-oldest', '--from-now'], /cannot be used with option/],
    [['--timeout', '0s'], /^--timeout must be a duration/],
    [['--secret', 'whatever'], /^--secret must begin with whsec_, as the secret of a hook does\.$/],
  ];
  for (const [args, line] of mistakes) assert.match(await refusedBy(...args), line);
});

test('a URL needs no scheme, and all kinds are selected by default', () => {
  const asked = readSettings({ timeout: '15s', forwardTo: 'localhost:3000/hook#part' });
  assert.deepEqual([asked.target, asked.timeoutMs, asked.wanted.size], ['http://localhost:3000/hook', 15_000, 7]);
  assert.deepEqual(
    [...readSettings({ timeout: '1m', kinds: 'new_task, new_event' }).wanted],
    ['new_event', 'new_task'],
  );
});
