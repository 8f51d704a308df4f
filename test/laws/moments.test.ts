import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columns } from '../../src/store/tables.ts';

test('each stored moment that something waits for is known: whoever reads it takes one that no wait can reach for now', () => {
  const waitedFor = Object.entries(columns).flatMap(([table, of]) =>
    Object.keys(of)
      .filter((column) => /(^|_)(due|next|retry|wake|until)(_at)?$/.test(column))
      .map((column) => `${table}.${column}`),
  );
  // By src/delivery/dispatcher/retry-policy.ts (remainingMs) and src/mail/queue.ts (claimMails); see decision 34.
  assert.deepEqual(waitedFor, ['hooks.due_at', 'mails.due_at']);
});
