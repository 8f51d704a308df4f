import { type Command, Option } from 'commander';
import { isFlag, requiredOf, wordsIn } from '../../api-docs/schema-shape.ts';
import type { JsonSchema } from '../../http/fields/field.ts';
import type { Parameters } from '../../http/routes/query-parameters.ts';
import { flagOf } from '../client/connect.ts';

/** Values of the flags, by Commander's names for them. */
export type FlagValues = Readonly<Record<string, unknown>>;

/** Adds a flag for each field of a body. */
export function addFields(command: Command, body: JsonSchema | undefined, group = 'Fields:'): void {
  const required = requiredOf(body);
  for (const [field, schema] of Object.entries(fieldsOf(body))) {
    const description = `${schema.description ?? ''}${required.includes(field) ? ' Required.' : ''}`;
    const value = isFlag(schema) ? `[${shapeOf(schema)}]` : `<${shapeOf(schema)}>`;
    command.addOption(optionOf(field, value, description, wordsOf(schema)).helpGroup(group));
  }
}

/** Adds a flag for each query parameter. */
export function addFilters(command: Command, parameters: Parameters): void {
  for (const [name, { description, schema }] of Object.entries(parameters)) {
    command.addOption(optionOf(name, `<${shapeOf(schema)}>`, description, wordsOf(schema)).helpGroup('Filters:'));
  }
}

/** The given fields as a request body. */
export function bodyOf(body: JsonSchema | undefined, values: FlagValues): Record<string, unknown> {
  const given = Object.entries(fieldsOf(body)).filter(([field]) => flagValue(values, field) !== undefined);
  return Object.fromEntries(given.map(([field, schema]) => [field, fieldValue(schema, flagValue(values, field))]));
}

/** The given parameters as a query. */
export function queryOf(parameters: Parameters, values: FlagValues): Record<string, string> {
  const given = Object.keys(parameters).filter((name) => flagValue(values, name) !== undefined);
  return Object.fromEntries(given.map((name) => [name, String(flagValue(values, name))]));
}

function optionOf(name: string, value: string, description: string, words: readonly string[]): Option {
  const option = new Option(`${flagOf(name)} ${value}`, description);
  // Only for help and completion: the service, which may be newer, validates the values.
  if (words.length > 0) option.argChoices = [...words];
  return option;
}

/** The value of a flag; Commander stores `--task-name` as `taskName`. */
export function flagValue(values: FlagValues, name: string): unknown {
  return values[name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
}

/** Converts the value of a flag: comma lists to arrays, a boolean flag without value to 1. */
function fieldValue(schema: JsonSchema, given: unknown): unknown {
  if (schema.type === 'array')
    return String(given)
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '');
  if (!isFlag(schema)) return given;
  return given === 'true' || given === 'false' ? given === 'true' : given === true ? '1' : given;
}

function fieldsOf(body: JsonSchema | undefined): Readonly<Record<string, JsonSchema>> {
  return (body?.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
}

const allowed = (schema: JsonSchema): readonly unknown[] => (Array.isArray(schema.enum) ? schema.enum : []);

function wordsOf(schema: JsonSchema): readonly string[] {
  return wordsIn(schema.type === 'array' ? (schema.items as JsonSchema) : schema);
}

/** The placeholder for a value in the help. */
function shapeOf(schema: JsonSchema): string {
  const { format, pattern } = schema;
  if (schema.type === 'array') return 'list';
  if (isFlag(schema)) return 'flag';
  if (allowed(schema).length > 0) return 'word';
  if (String(format).startsWith('calendar-time') || pattern === '^\\d{8}$') return 'yyyymmdd';
  if (String(format).startsWith('id') || String(pattern).startsWith('^\\d+$')) return 'id';
  if (format === 'expiry') return 'duration';
  const isNumber = [schema.type].flat().some((type) => type === 'integer' || type === 'number');
  return isNumber ? 'number' : 'text';
}
