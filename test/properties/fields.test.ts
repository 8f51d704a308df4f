import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { calendarDayOrNone, calendarTime, calendarTimeOrNone } from '../../src/http/fields/dates.ts';
import type { Field, JsonSchema } from '../../src/http/fields/field.ts';
import { recordId, recordIdOrNone } from '../../src/http/fields/reference-fields.ts';
import {
  currency,
  decimal,
  email,
  flag,
  integer,
  longText,
  plainText,
  requiredName,
  seconds,
  shortText,
  tags,
  text,
} from '../../src/http/fields/scalar-fields.ts';
import { SchemaCollector } from '../../src/http/routes/openapi-schemas.ts';
import { calendarInputFields } from '../../src/resources/calendars/calendars.ts';
import {
  activeState,
  assignedTeams,
  assignedUsers,
  fixedPrice,
  role,
  sortPosition,
} from '../../src/resources/core/domain-fields.ts';
import { recurrenceField } from '../../src/resources/core/recurring-tasks.ts';
import { hookInputFields } from '../../src/resources/hooks/schema.ts';
import { importInputFields } from '../../src/resources/imports/schema.ts';
import { passphraseChangeFields } from '../../src/resources/passphrases/passphrases.ts';

/** Fields whose parser accepts exactly the values of the published schema, except texts that cannot be stored. */
const exactFields: Readonly<Record<string, Field>> = {
  activeState: activeState(),
  assignedTeams: assignedTeams(''),
  assignedUsers: assignedUsers(''),
  currency: currency(''),
  event: hookInputFields.event,
  flag: flag(''),
  recurring: recurrenceField(''),
  role: role(''),
  scope: calendarInputFields.scope,
  sortPosition: sortPosition(''),
};

/** Fields whose parser also rejects values that a schema cannot exclude, such as a day that does not exist. */
const narrowerFields: Readonly<Record<string, Field>> = {
  calendarDayOrNone: calendarDayOrNone(''),
  calendarTime: calendarTime(''),
  calendarTimeOrNone: calendarTimeOrNone(''),
  decimal: decimal(''),
  email: email('', 'optional'),
  fixedPrice: fixedPrice(''),
  ics: importInputFields.ics,
  longText: longText(''),
  passphrase: passphraseChangeFields.passphrase,
  plainText: plainText(''),
  progress: integer('', 100),
  recordId: recordId(''),
  recordIdOrNone: recordIdOrNone(''),
  requiredEmail: email('', 'required'),
  requiredName: requiredName(''),
  seconds: seconds(''),
  shortText: shortText(''),
  tags: tags(''),
  target_url: hookInputFields.target_url,
  text: text({ description: '', minLength: 2, maxLength: 5 }),
  time_zone: calendarInputFields.time_zone,
};

const ajv = new Ajv2020({ strict: false, allErrors: true });

/** Compiles the schema of a field as `/openapi.json` publishes it. */
function compilePublishedSchema({ inputSchema }: Field) {
  const collector = new SchemaCollector(new Map());
  return ajv.compile(collector.toPortableSchema(withoutTitles(inputSchema)));
}

/** Returns a schema without names, so that it contains no references. */
function withoutTitles(schema: JsonSchema): JsonSchema {
  const { title: _, items, properties, ...rest } = schema;
  const named = Object.entries((properties ?? {}) as Record<string, JsonSchema>);
  return {
    ...rest,
    ...(items === undefined ? {} : { items: withoutTitles(items as JsonSchema) }),
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(named.map(([name, one]) => [name, withoutTitles(one)])) }),
  };
}

/** Values at the limits of many fields. */
const notableValues: readonly unknown[] = [
  ...[null, true, false, 0, -0, 1, 2, -1, 0.5, 1.5, 100, 101, 1e9, 999_999_999, 999_999_999.9999, 0.00001],
  ...[2 ** 53 - 1, 2 ** 53, 9_999_999_999_999, 1e13, 1e300],
  ...['', ' ', '0', '1', '2', '00', '007', '0000100', '100', '101', '1.5', '.5', '5.', '1e3', '-1', '+1', '0x10'],
  ...['999999999', '999999999.5', '1000000000', '9007199254740991', '9007199254740992', '0.1234', '0.12345'],
  ...['20270101', '20270230', '2027-01-01', '2027-01-01 09:30:00', '2027-13-01 00:00:00', '0000-00-00 00:00:00'],
  ...['CHF', 'chf', 'CHFX', 'M', 'm', 'Y', 'member', 'Owner', 'own', 'account', 'new_event', 'old_event'],
  ...['a@b', 'a@b@c', '@b', 'a@', 'a b@c', 'a@b\n', 'Europe/Zurich', 'Europe/Nowhere', 'https://a.test/x', 'ftp://a'],
  ...['a\u0000b', '\ud800', 'a\u202eb', 'x'.repeat(255), 'x'.repeat(256), '😀'.repeat(255), '😀'.repeat(256)],
  ...['x'.repeat(1_000), 'x'.repeat(20_000), 'x'.repeat(20_001), 'BEGIN:VCALENDAR\r\n', 'a,b,,c', 'aa', ' aa '],
  ...[[], {}, [1], ['1', '2'], [''], ['x'], [null], [{ user_id: 1 }], [{ team_id: '2' }], [{ user_id: 'x' }], [[1]]],
  ...[Array(1_000).fill(1), Array(1_001).fill(1), [{ user_id: 1, team_id: 1, user_name: 'A' }]],
];

const anyValue = fc.oneof(
  fc.constantFrom(...notableValues),
  fc.jsonValue(),
  fc.nat({ max: 200 }).map(String),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.array(fc.oneof(fc.nat(), fc.string(), fc.record({ user_id: fc.nat(), team_id: fc.nat() })), { maxLength: 3 }),
);

/** Whether a text is published as too long only because of the space at its ends, which the service trims. */
const isTrimmed = (value: unknown) => typeof value === 'string' && value.trim() !== value;

test('C4 X6 a field accepts no value that its published schema excludes, except space that it trims', () => {
  for (const [name, field] of Object.entries({ ...exactFields, ...narrowerFields })) {
    const isPublished = compilePublishedSchema(field);
    const check = (value: unknown) => {
      if ('value' in field.parse(value) && !isTrimmed(value))
        assert.ok(isPublished(value), `${name}: ${JSON.stringify(value)}`);
    };
    for (const value of notableValues) check(value);
    fc.assert(fc.property(anyValue, check), { numRuns: 300 });
  }
});

test('C4 X6 a field without rules of its own accepts every value of its published schema', () => {
  for (const [name, field] of Object.entries(exactFields)) {
    const isPublished = compilePublishedSchema(field);
    const accepted = notableValues.filter((value) => 'value' in field.parse(value));
    assert.ok(accepted.length > 0 && accepted.length < notableValues.length, name);
    const check = (value: unknown) => {
      if (isPublished(value)) assert.ok('value' in field.parse(value), `${name}: ${JSON.stringify(value)}`);
    };
    for (const value of notableValues) check(value);
    fc.assert(fc.property(anyValue, check), { numRuns: 300 });
  }
});

test('C4 no field accepts a text that a database would reject or change', () => {
  for (const [name, field] of Object.entries({ ...exactFields, ...narrowerFields }))
    for (const value of [
      '\0',
      'aa\0',
      '\ud800a',
      'aa\udc00',
      'BEGIN:VCALENDAR\r\n\0',
      'https://a.test/\ud800',
      'a@b\ud800',
    ])
      assert.ok('error' in field.parse(value), `${name}: ${JSON.stringify(value)}`);
});
