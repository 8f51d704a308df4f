import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RemainderTooLargeError, StreamedFieldExtractor } from './streamed-field.ts';

/** Extracts the field from JSON that arrives in chunks of `chunkBytes` bytes. */
function extractField(json: string | Uint8Array, chunkBytes = 1_000_000, maxRemainderBytes = 1_000) {
  const long = new StreamedFieldExtractor('ics', maxRemainderBytes);
  const bytes = Buffer.from(json as string);
  let text = '';
  for (let at = 0; at < bytes.length; at += chunkBytes) text += long.push(bytes.subarray(at, at + chunkBytes));
  const rest = long.finish().toString();
  return { text, rest, value: JSON.parse(rest) };
}

const BODIES: readonly string[] = [
  '{"ics":"BEGIN:VCALENDAR\\r\\nEND:VCALENDAR","project_id":"7","again":true}',
  '{ "a" : {"ics":"no"}, "b":["ics","x"], "ics" : "yes" , "c":"ics" }',
  '{"i\\u0063s":"the name is escaped"}',
  '{"ics":"quotes \\" and \\\\ and \\\\\\" and \\/ and \\u0022"}',
  '{"ics":"é 日本 👩‍👩‍👧 \\u00e9 \\ud83d\\udd14"}',
  '{"ics":""}',
  '{"ics":"   \\n BEGIN"}',
  '{"ics":7,"x":"ics"}',
  '{"ics":null}',
  '{"ics":{"ics":"deeper"},"d":[["ics"]]}',
  '{"x\\"ics":"a","y":"ics"}',
  '{}',
  '["ics","x"]',
  '"ics"',
  '{"ics2":"a","ic":"b"}',
  `{"${'n'.repeat(200)}":"a"}`,
  '\ufeff{"ics":"behind a mark"}',
];

test('the text equals that of JSON.parse, and the rest has a placeholder, for chunks of any size', () => {
  for (const body of BODIES) {
    const whole: unknown = JSON.parse(body.replace(/^\ufeff/, ''));
    const ics: unknown = typeof whole === 'object' && whole !== null ? Reflect.get(whole, 'ics') : undefined;
    const text = typeof ics === 'string' ? ics : '';
    for (const chunkBytes of [1, 2, 3, 5, 7, 1_000]) {
      const seen = extractField(body.replace(/^\ufeff/, ''), chunkBytes);
      assert.equal(seen.text, text, `${body} in pieces of ${chunkBytes}`);
      const value = typeof ics === 'string' ? { ...(whole as object), ics: text.trimStart().slice(0, 16) } : whole;
      assert.deepEqual(seen.value, value, `${body} in pieces of ${chunkBytes}`);
    }
  }
});

test('a text that is not well-formed has an empty placeholder', () => {
  for (const text of ['\\ud83d', 'a\\udd14b', '\\udd14\\ud83d', '\\ud83d\\ud83d\\udd14'])
    for (const chunkBytes of [1, 6, 1_000])
      assert.equal(extractField(`{"ics":"${text}"}`, chunkBytes).value.ics, '', text);
});

test('invalid JSON stays invalid', () => {
  for (const body of [
    '{"ics":"no end',
    '{"ics":"line\nbreak"}',
    '{"ics":"\\x"}',
    '{"ics":"\\u12"}',
    '{"ics":"a","ics":"twice"}',
    '{"ics":"a" "b"}',
    '{"ics" "a"}',
    '{"ics":"a"} trailing',
    '{"ics":"a"}}',
    '{"a":"b" "ics":"c"}',
    '{"ics":"a",}',
    '{\'ics\':"a"}',
    '',
    ' ',
  ])
    for (const chunkBytes of [1, 4, 1_000]) assert.throws(() => extractField(body, chunkBytes), body);
  assert.throws(() => extractField(Buffer.concat([Buffer.from('{"ics":"'), Buffer.of(0xff), Buffer.from('"}')])));
});

test('the text has no limit, and the rest does', () => {
  const long = 'x'.repeat(1_000_000);
  assert.equal(extractField(`{"ics":"${long}"}`, 10_000).text, long);
  assert.throws(() => extractField(`{"a":"${long}","ics":"x"}`, 10_000), RemainderTooLargeError);
  assert.throws(() => extractField(`[${'[],'.repeat(1_000)}[]]`, 10_000), RemainderTooLargeError);
});
