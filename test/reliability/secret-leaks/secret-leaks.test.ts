import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toPrintable } from '../../../src/control-characters.ts';
import { hideHeaderValues } from '../../../src/delivery/dispatcher/hook-settings.ts';
import { smokeTest } from '../smoke.ts';
import { findLeaks } from './fixture.ts';
import { secretLeaks } from './secret-leaks.ts';

smokeTest(secretLeaks);

test('X11 a response that repeats header values in part, in another case, escaped or decoded shows none', () => {
  const basic = Buffer.from('gateway:a-pass"word-of-4711').toString('base64');
  const headers = ['authorization', 'Bearer hush-hush-4711', 'x-basic', `Basic ${basic}`, 'x-spaced', 'a\t \tb'];
  const hidden = (text: string) => hideHeaderValues(toPrintable(text), headers);
  for (const [text, shown] of [
    ['you sent Bearer hush-hush-4711.', 'you sent ….'],
    ['no HUSH-HUSH-4711, no hush-hush-4711', 'no …, no …'],
    ['hush-hush-47 is unknown', '… is unknown'],
    ['unknown: hush-hush-47', 'unknown: …'],
    ['unknown: hush-', 'unknown: …'],
    [JSON.stringify({ password: 'a-pass"word-of-4711' }), '{"password":"…"}'],
    [`/?q=${encodeURIComponent('a-pass"word-of-4711')}&r=1`, '/?q=…&r=1'],
    [`basic ${basic}`, '…'],
    ['<a\t \tb>', '<…>'],
    ['nothing of that', 'nothing of that'],
  ] as const)
    assert.equal(hidden(text), shown);
});

test('R15 a secret is found in every encoding, and a scan that finds nothing where it must is reported', () => {
  const secret = { what: 'a key', text: 'aB3/+ünd?so~weiter', allowedIn: [] };
  const bytes = Buffer.from(secret.text);
  const place = (text: string) => [{ name: 'the log', bytes: Buffer.from(`before ${text} behind`) }];
  const inHeader = (before: string) => Buffer.from(`${before}:${secret.text}`).toString('base64');
  const forms = [secret.text, encodeURIComponent(secret.text), bytes.toString('base64url'), bytes.toString('hex')];
  for (const form of [...forms, ...['', 'a', 'ab', 'acme.test'].map(inHeader), bytes.toString('hex').toUpperCase()])
    assert.deepEqual(findLeaks([secret], place(form)), ['a key is in the log'], form);
  assert.deepEqual(findLeaks([secret], place('nothing')), []);
  const long = { ...secret, text: `${'x'.repeat(20)}${'y'.repeat(20)}` };
  for (const half of ['x', 'y']) assert.equal(findLeaks([long], place(half.repeat(20))).length, 1);
  const kept = { ...secret, allowedIn: ['the log'] };
  assert.deepEqual(findLeaks([kept], place(secret.text)), []);
  assert.match(findLeaks([kept], place('nothing'))[0] ?? '', /the scan is blind/);
});
