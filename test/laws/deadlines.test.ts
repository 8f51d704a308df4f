import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closingOf, product } from './source.ts';

/** Functions that abandon a request whose response may have arrived. */
const GIVES_UP = /\b(abort|cancel|cut|destroy|fail|give|giveUp|reject)\(/;

test('network timeouts use only startDeadline, which reads already received data before it gives up', () => {
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
