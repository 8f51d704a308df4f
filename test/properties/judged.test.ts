import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { judge } from '../../src/import-from-api/judge.ts';
import { listed } from '../../src/import-from-api/nouns.ts';
import { account } from '../corpus/existing-service.ts';

const numbers = fc.oneof(fc.double({ noNaN: true }), fc.integer(), fc.double({ min: 0, max: 1e6, noNaN: true }));
const value = fc.oneof(fc.jsonValue(), numbers, numbers.map(String), fc.constant(undefined));

for (const resourceType of listed) {
  const [record] = account.lists[resourceType.name as keyof typeof account.lists];
  const optional = Object.entries(resourceType.fields).filter(
    ([, { mode, default: initial }]) => mode === 'written' && initial !== undefined,
  );
  const names = optional.map(([name]) => name);

  test(`C42 whatever another service writes into fields that ${resourceType.name} can be without, the record comes, and what was lost is reported`, () => {
    const some = fc
      .subarray(names)
      .chain((fields) => fc.tuple(...fields.map((field) => fc.tuple(fc.constant(field), value))));
    fc.assert(
      fc.property(some, (fields) => {
        const written = { ...record, ...Object.fromEntries(fields) };
        const judged = judge(resourceType, JSON.stringify(written), 0);
        assert.ok('input' in judged, JSON.stringify(judged));
        const input: Readonly<Record<string, unknown>> = judged.input;
        const reported = new Set(judged.changes.map(({ field }) => field));
        for (const name of names) {
          assert.notEqual(input[name], undefined, name);
          const was = Reflect.get(JSON.parse(JSON.stringify(written)), name);
          // What is a number on both sides is the same one, or reported.
          const isNumber = typeof was === 'number' && was !== 0 && /^\d+(\.\d+)?$/.test(String(input[name]));
          const isLost = isNumber && Number(input[name]) !== was && typeof input[name] !== 'number';
          if (isLost) assert.ok(reported.has(name), `${name}: ${was} became ${input[name]}`);
        }
      }),
      { numRuns: 500 },
    );
  });
}
