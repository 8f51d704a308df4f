import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closingOf, product } from './source.ts';

/** What gives up on something that may have been answered. */
const GIVES_UP = /\b(abort|cancel|cut|destroy|fail|give|giveUp|reject)\(/;

test('what waits for somebody else gives up through startDeadline alone, which reads what has arrived first', () => {
  const found: string[] = [];
  for (const { path, code, text } of product()) {
    if (!/^src\/(delivery|mail)\//.test(path) || path === 'src/delivery/transport/deadline.ts') continue;
    for (const { index } of code.matchAll(/\.after\(/g)) {
      const open = index + '.after'.length;
      const call = text.slice(open, closingOf(code, open) + 1);
      if (GIVES_UP.test(call)) found.push(`${path}: after${call}`);
    }
  }
  assert.deepEqual(found, []);
});
