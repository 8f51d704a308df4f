import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toPrintable } from '../../../src/control-characters.ts';
import { redactHeaderValues } from '../../../src/delivery/dispatcher/redact-headers.ts';
import { findLeaks } from './fixture.ts';

test('X11 a response that repeats header values in part, in another case, escaped or decoded shows none', () => {
  const basic = Buffer.from('gateway:a-p4ss"w0rd-of-4711').toString('base64');
  const headers = ['authorization', 'Bearer hush-hush-4711', 'x-basic', `Basic ${basic}`, 'x-spaced', '+\t \t+!'];
  const hidden = (text: string) => redactHeaderValues(toPrintable(text), headers);
  for (const [text, shown] of [
    ['you sent Bearer hush-hush-4711.', 'you sent ….'],
    ['no HUSH-HUSH-4711, no hush-hush-4711', 'no …, no …'],
    ['hush-hush-47 is unknown', '… is unknown'],
    ['unknown: hush-hush-47', 'unknown: …'],
    ['unknown: hush-', 'unknown: …-'],
    ['unknown: h', 'unknown: h'],
    ['the end is ush-4711', 'the end is …'],
    [JSON.stringify({ password: 'a-p4ss"w0rd-of-4711' }), '{"password":"…"}'],
    [`/?q=${encodeURIComponent('a-p4ss"w0rd-of-4711')}&r=1`, '/?q=…&r=1'],
    [`basic ${basic}`, '…'],
    ['<+\t \t+!>', '<…>'],
    ['nothing of that', 'nothing of that'],
  ] as const)
    assert.equal(hidden(text), shown);
});

test('X11 a response shows no header value, however its characters are escaped', () => {
  const value = 'Bearer abcdEFGH/ijkl+MNOP&qr=st"uv<ab\\u0041-yzABCDEF';
  const shownOf = (text: string) => redactHeaderValues(toPrintable(text), ['authorization', value]);
  const json = JSON.stringify({ got: value });
  const written = (text: string, encode: (code: number) => string) =>
    `got ${text.replace(/[^a-z0-9 ]/gi, (character) => encode(character.charCodeAt(0)))}.`;
  const named = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  const percent = (code: number) => `%${code.toString(16).padStart(2, '0')}`;
  for (const [text, shown] of [
    [json, '{"got":"…"}'],
    [json.replaceAll('/', '\\/'), '{"got":"…"}'],
    [json.replaceAll('+', '\\u002b').replaceAll('&', '\\u0026'), '{"got":"…"}'],
    [JSON.stringify(json), '"{\\"got\\":\\"…\\"}"'],
    [written(value, (code) => `&#${code};`), 'got ….'],
    [written(value, (code) => `&#x${code.toString(16).toUpperCase()};`), 'got ….'],
    [written(value, (code) => `\\x${code.toString(16)}`), 'got ….'],
    [written(value, percent), 'got ….'],
    [`got ${encodeURIComponent(encodeURIComponent(value))}.`, 'got ….'],
    [`got ${named(value)}.`, 'got ….'],
    [`got ${named(named(value))}.`, 'got ….'],
    // Words of an escape that is not known are hidden one by one.
    ['got Bearer abcdEFGH=2FijklMNOPqr', 'got …=2F…'],
    ['{"error":"a\\/b","at":"caf&eacute; 4&#x2F;7"}', '{"error":"a\\/b","at":"caf&eacute; 4&#x2F;7"}'],
  ] as const)
    assert.equal(shownOf(text), shown, text);
});

test('X11 five values of maximum length, each repeated with escapes, are hidden completely', () => {
  const values = ['abcd', 'efgh', 'ijkl', 'mnop', 'qrst'].map((letters) => `${letters}/"&`.repeat(585));
  const text = values.map((value) => JSON.stringify(value).replaceAll('/', '\\/').replaceAll('&', '&amp;')).join(' ');
  const shown = redactHeaderValues(
    text,
    values.flatMap((value) => ['x-header', value]),
  );
  assert.equal(shown, values.map(() => String.raw`"…\/\"&amp;"`).join(' '));
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
