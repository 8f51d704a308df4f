import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { listedTypes } from '../../src/import-from-api/resource-types.ts';
import { validateRecord } from '../../src/import-from-api/validate-record.ts';
import { account } from '../corpus/existing-service.ts';

const numbers = fc.oneof(fc.double({ noNaN: true }), fc.integer(), fc.double({ min: 0, max: 1e6, noNaN: true }));
const anyValue = fc.oneof(fc.jsonValue(), numbers, numbers.map(String), fc.constant(undefined));

for (const resourceType of listedTypes) {
  const [record] = account.lists[resourceType.name as keyof typeof account.lists];
  const optional = Object.entries(resourceType.fields).filter(
    ([, { mode, default: initial }]) => mode === 'writable' && initial !== undefined,
  );
  const names = optional.map(([name]) => name);

  test(`C42 with any values of another service in the optional fields of ${resourceType.name}, the record is imported, and lost values are reported`, () => {
    const someFields = fc
      .subarray(names)
      .chain((fields) => fc.tuple(...fields.map((field) => fc.tuple(fc.constant(field), anyValue))));
    fc.assert(
      fc.property(someFields, (fields) => {
        const written = { ...record, ...Object.fromEntries(fields) };
        const result = validateRecord(resourceType, JSON.stringify(written), 0);
        assert.ok('input' in result, JSON.stringify(result));
        const input: Readonly<Record<string, unknown>> = result.input;
        const reported = new Set(result.changes.map(({ field }) => field));
        for (const name of names) {
          assert.notEqual(input[name], undefined, name);
          const original = Reflect.get(JSON.parse(JSON.stringify(written)), name);
          // A value that is a number in the source and in the result is unchanged or reported.
          const isNumber = typeof original === 'number' && original !== 0 && /^\d+(\.\d+)?$/.test(String(input[name]));
          const isLost = isNumber && Number(input[name]) !== original && typeof input[name] !== 'number';
          if (isLost) assert.ok(reported.has(name), `${name}: ${original} became ${input[name]}`);
        }
      }),
      { numRuns: 500 },
    );
  });
}
