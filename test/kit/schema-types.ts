import type { JsonSchema } from '../../src/http/fields/field.ts';
import type { Parameters } from '../../src/http/routes/query-parameters.ts';
import type { Route } from '../../src/http/routes/route.ts';
import { asksOf, type SdkCall } from './sdk-calls.ts';

/** Something that must hold between a method of the SDK and the row it reaches: in words, and as a type that is `true`. */
export type Promised = { readonly says: string; readonly type: string };

/** What every program of promises begins with. */
export const PRELUDE = `
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : never;
type Taken<M, At extends number> = M extends (...given: infer P) => unknown ? NonNullable<P[At]> : never;
type Gives<M> = M extends (...given: never) => AsyncGenerator<infer T> ? T : M extends (...given: never) => Promise<infer T> ? T : never;
`;

/** All that the SDK says in types of what the rows say in schemas: each argument, each answer, field by field. */
export function promisesOf(calls: readonly SdkCall[], rows: readonly Route[]): Promised[] {
  return calls.flatMap((call) => {
    const row = rows.find((one) => asksOf(one) === call.asks);
    if (row === undefined) return [{ says: `${call.method} reaches a row`, type: 'never' }];
    const type = `CarillonConsole${call.method
      .split('.')
      .map((name) => `['${name}']`)
      .join('')}`;
    const { body, query } = call;
    return [
      ...(body === undefined
        ? []
        : fieldsOf(`${call.method} takes`, `Taken<${type}, ${body}>`, row.body ?? {}, JSON_TYPES)),
      ...(query === undefined
        ? []
        : fieldsOf(`${call.method} asks`, `Taken<${type}, ${query}>`, queryOf(call, row), QUERY_TYPES)),
      ...answered(call.method, `Gives<${type}>`, row.answer),
    ];
  });
}

function answered(method: string, type: string, answer: JsonSchema): Promised[] {
  if (answer.type === 'array') return [{ says: `${method} gives nothing`, type: `Same<${type}, void>` }];
  const { data, ...around } = propertiesOf(answer);
  if (data === undefined) return fieldsOf(`${method} gives`, type, answer, JSON_TYPES);
  if (data.type !== 'array') return fieldsOf(`${method} gives`, type, data, JSON_TYPES);
  const item = (data.items ?? {}) as JsonSchema;
  if (/\.(each|follow)$/.test(method)) return fieldsOf(`${method} gives`, type, item, JSON_TYPES);
  // Where the next page begins stands in `Link`.
  const read = 'paging' in around ? { ...around, next: { type: 'string' } } : around;
  const outer: JsonSchema = { ...answer, required: Object.keys(around), properties: read };
  return [
    ...fieldsOf(`${method} gives`, `Omit<${type}, 'data'>`, outer, JSON_TYPES),
    ...fieldsOf(`${method} lists`, `${type}['data'][number]`, item, JSON_TYPES),
  ];
}

/** What is not said: a stream asks for no part of a list, and waits anyway. */
const UNSAID: Readonly<Record<string, readonly string[]>> = { follow: ['limit', 'wait'] };

function queryOf({ method }: SdkCall, { parameters }: { parameters: Parameters }): JsonSchema {
  const unsaid = UNSAID[method.split('.').at(-1) ?? ''] ?? [];
  const said = Object.entries(parameters).filter(([name]) => !unsaid.includes(name));
  return { properties: Object.fromEntries(said.map(([name, { schema }]) => [name, schema])) };
}

/** That a type has the fields of a schema, no other, each with its type and required where it is there. */
function fieldsOf(says: string, type: string, schema: JsonSchema, typeOf: (schema: JsonSchema) => string): Promised[] {
  const fields = Object.entries(propertiesOf(schema));
  const names = fields.map(([name]) => `'${name}'`).join(' | ') || 'never';
  const required = new Set(schema.required as readonly string[] | undefined);
  return [
    { says: `${says} these fields`, type: `Same<keyof ${type}, ${names}>` },
    ...fields.map(([name, field]) => {
      // Left out only where an answer is given again, which the SDK refuses.
      const isThere = required.has(name) || field['x-shown-once'] === true;
      return {
        says: `${says} ${name}`,
        type: `Same<${type}['${name}'], ${typeOf(field)}${isThere ? '' : ' | undefined'}>`,
      };
    }),
  ];
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
}

const PLAIN: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** The type of what a schema accepts. */
function JSON_TYPES(schema: JsonSchema): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if ('const' in schema) return schema.const === null ? 'null' : typeof schema.const;
  const types = [schema.type].flat();
  return types.map((type) => PLAIN[String(type)] ?? structure(String(type), schema)).join(' | ');
}

function structure(type: string, schema: JsonSchema): string {
  if (type === 'array') return `readonly (${JSON_TYPES((schema.items ?? {}) as JsonSchema)})[]`;
  if (type !== 'object') return 'unknown';
  const required = new Set(schema.required as readonly string[] | undefined);
  const fields = Object.entries(propertiesOf(schema));
  return `{ ${fields.map(([name, field]) => `readonly ${name}${required.has(name) ? '' : '?'}: ${JSON_TYPES(field)}`).join('; ')} }`;
}

/** In a query everything is text; an id may also be given as a number, as elsewhere. C5. */
function QUERY_TYPES(schema: JsonSchema): string {
  return schema.pattern === '^\\d+$' ? 'string | number' : JSON_TYPES(schema);
}
