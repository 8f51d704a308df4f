import { type Command, Option } from 'commander';
import { isFlag, requiredOf, wordsIn } from '../../api-docs/schema-shape.ts';
import type { JsonSchema } from '../../http/fields/field.ts';
import type { Parameters } from '../../http/routes/query-parameters.ts';
import { flagOf } from '../client/connect.ts';

/** What was given of flags, by the names that commander has for them. */
export type FlagValues = Readonly<Record<string, unknown>>;

/** Gives a command a flag for each field of a body. */
export function addFields(command: Command, body: JsonSchema | undefined, group = 'Fields:'): void {
  const required = requiredOf(body);
  for (const [field, schema] of Object.entries(fieldsOf(body))) {
    const says = `${schema.description ?? ''}${required.includes(field) ? ' Required.' : ''}`;
    const value = isFlag(schema) ? `[${shapeOf(schema)}]` : `<${shapeOf(schema)}>`;
    command.addOption(optionOf(field, value, says, wordsOf(schema)).helpGroup(group));
  }
}

/** Gives a command a flag for each parameter of a query. */
export function addFilters(command: Command, parameters: Parameters): void {
  for (const [name, { description, schema }] of Object.entries(parameters)) {
    command.addOption(optionOf(name, `<${shapeOf(schema)}>`, description, wordsOf(schema)).helpGroup('Filters:'));
  }
}

/** The fields that were given, as a body takes them. */
export function bodyOf(body: JsonSchema | undefined, values: FlagValues): Record<string, unknown> {
  const given = Object.entries(fieldsOf(body)).filter(([field]) => givenFor(values, field) !== undefined);
  return Object.fromEntries(given.map(([field, schema]) => [field, fieldValue(schema, givenFor(values, field))]));
}

/** The parameters that were given, as a query takes them. */
export function queryOf(parameters: Parameters, values: FlagValues): Record<string, string> {
  const given = Object.keys(parameters).filter((name) => givenFor(values, name) !== undefined);
  return Object.fromEntries(given.map((name) => [name, String(givenFor(values, name))]));
}

function optionOf(name: string, value: string, says: string, words: readonly string[]): Option {
  const option = new Option(`${flagOf(name)} ${value}`, says);
  // For help and completion; what is acceptable is for the service to say, which may be newer than this.
  if (words.length > 0) option.argChoices = [...words];
  return option;
}

/** Commander knows `--task-name` as `taskName`. */
export function givenFor(values: FlagValues, name: string): unknown {
  return values[name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
}

/** A list is written with commas; a flag that stands alone says yes. */
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

/** What a value looks like, in the words of the help. */
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
