import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columns } from '../../src/store/tables.ts';

test('the stored timestamps that something waits for are known, because their readers must handle clock changes', () => {
  const waitedFor = Object.entries(columns).flatMap(([table, columnsOfTable]) =>
    Object.keys(columnsOfTable)
      .filter((column) => /(^|_)(due|next|retry|wake|until)(_at)?$/.test(column))
      .map((column) => `${table}.${column}`),
  );
  // Read by src/delivery/dispatcher/retry-policy.ts (remainingMs) and src/mail/queue.ts (claimMails), which treat a
  // timestamp further ahead than any wait as due now; see decision 34.
  assert.deepEqual(waitedFor, ['hooks.due_at', 'mails.due_at']);
});
