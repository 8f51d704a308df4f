import { type Command, Option } from 'commander';
import { isFlag, requiredOf, wordsIn } from '../../api-docs/schema-shape.ts';
import type { JsonSchema } from '../../http/fields/field.ts';
import type { Parameters } from '../../http/routes/query-parameters.ts';
import { flagOf } from '../client/connect.ts';

/** Values of the flags, keyed by Commander's camel-case names. */
export type FlagValues = Readonly<Record<string, unknown>>;

/** Adds a flag for each field of a body to a command. */
export function addFields(command: Command, body: JsonSchema | undefined, group = 'Fields:'): void {
  const required = requiredOf(body);
  for (const [field, schema] of Object.entries(fieldsOf(body))) {
    const description = `${schema.description ?? ''}${required.includes(field) ? ' Required.' : ''}`;
    const value = isFlag(schema) ? `[${shapeOf(schema)}]` : `<${shapeOf(schema)}>`;
    command.addOption(optionOf(field, value, description, wordsOf(schema)).helpGroup(group));
  }
}

/** Adds a flag for each query parameter to a command. */
export function addFilters(command: Command, parameters: Parameters): void {
  for (const [name, { description, schema }] of Object.entries(parameters)) {
    command.addOption(optionOf(name, `<${shapeOf(schema)}>`, description, wordsOf(schema)).helpGroup('Filters:'));
  }
}

/** Builds a request body from the flags that were given. */
export function bodyOf(body: JsonSchema | undefined, values: FlagValues): Record<string, unknown> {
  const given = Object.entries(fieldsOf(body)).filter(([field]) => flagValue(values, field) !== undefined);
  return Object.fromEntries(given.map(([field, schema]) => [field, fieldValue(schema, flagValue(values, field))]));
}

/** Builds a query from the flags that were given. */
export function queryOf(parameters: Parameters, values: FlagValues): Record<string, string> {
  const given = Object.keys(parameters).filter((name) => flagValue(values, name) !== undefined);
  return Object.fromEntries(given.map((name) => [name, String(flagValue(values, name))]));
}

function optionOf(name: string, value: string, description: string, words: readonly string[]): Option {
  const option = new Option(`${flagOf(name)} ${value}`, description);
  // The words serve only help and completion. The service validates the values, since it may be newer than this
  // program.
  if (words.length > 0) option.argChoices = [...words];
  return option;
}

/** Returns the value of a flag. Commander stores `--task-name` as `taskName`. */
export function flagValue(values: FlagValues, name: string): unknown {
  return values[name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
}

/**
 * Converts the value of a flag to the value of a field. A comma-separated list becomes an array, and a boolean flag
 * without a value becomes 1.
 */
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

/** Returns the placeholder that the help shows for a value, such as `id` or `yyyymmdd`. */
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
