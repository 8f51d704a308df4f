import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scan } from './canary/canaries.ts';
import { canary } from './canary.ts';
import { quick } from './quick.ts';

quick(canary);

test('R15 a secret is found however it is written, and a scan that sees nothing is named', () => {
  const secret = { what: 'a key', text: 'aB3/+ünd?so~weiter', standsIn: [] };
  const bytes = Buffer.from(secret.text);
  const place = (text: string) => [{ name: 'the log', bytes: Buffer.from(`before ${text} behind`) }];
  for (const form of [secret.text, encodeURIComponent(secret.text), bytes.toString('base64'), bytes.toString('hex')])
    assert.deepEqual(scan([secret], place(form)), ['a key stands in the log'], form);
  assert.deepEqual(scan([secret], place('nothing')), []);
  const kept = { ...secret, standsIn: ['the log'] };
  assert.deepEqual(scan([kept], place(secret.text)), []);
  assert.match(scan([kept], place('nothing'))[0] ?? '', /the scan is blind/);
});
