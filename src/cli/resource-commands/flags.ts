import { type Command, Option } from 'commander';
import { enumStringsOf, isFlag, requiredNamesOf } from '../../api-docs/schema-shape.ts';
import type { JsonSchema } from '../../http/fields/field.ts';
import type { QueryParameters } from '../../http/routes/query-parameters.ts';
import { flagOf } from '../client/connect.ts';

/** Values of the flags, keyed by Commander's camel-case names. */
export type FlagValues = Readonly<Record<string, unknown>>;

/** Adds a flag for each field of a body to a command. */
export function addFieldFlags(command: Command, body: JsonSchema | undefined, group = 'Fields:'): void {
  const requiredNames = requiredNamesOf(body);
  for (const [field, schema] of Object.entries(bodyFields(body))) {
    const description = `${schema.description ?? ''}${requiredNames.includes(field) ? ' Required.' : ''}`;
    const placeholder = isFlag(schema) ? `[${placeholderOf(schema)}]` : `<${placeholderOf(schema)}>`;
    command.addOption(createOption(field, placeholder, description, choicesOf(schema)).helpGroup(group));
  }
}

/** Adds a flag for each query parameter to a command. */
export function addFilterFlags(command: Command, parameters: QueryParameters): void {
  for (const [name, { description, schema }] of Object.entries(parameters)) {
    command.addOption(
      createOption(name, `<${placeholderOf(schema)}>`, description, choicesOf(schema)).helpGroup('Filters:'),
    );
  }
}

/** Builds a request body from the flags that were given. */
export function bodyFromFlags(body: JsonSchema | undefined, values: FlagValues): Record<string, unknown> {
  const givenFields = Object.entries(bodyFields(body)).filter(([field]) => readFlagValue(values, field) !== undefined);
  return Object.fromEntries(
    givenFields.map(([field, schema]) => [field, toFieldValue(schema, readFlagValue(values, field))]),
  );
}

/** Builds a query from the flags that were given. */
export function queryFromFlags(parameters: QueryParameters, values: FlagValues): Record<string, string> {
  const givenNames = Object.keys(parameters).filter((name) => readFlagValue(values, name) !== undefined);
  return Object.fromEntries(givenNames.map((name) => [name, String(readFlagValue(values, name))]));
}

function createOption(name: string, placeholder: string, description: string, choices: readonly string[]): Option {
  const option = new Option(`${flagOf(name)} ${placeholder}`, description);
  // The choices only serve help and completion. The service validates the value, since the service may be newer than
  // this program and accept more values.
  if (choices.length > 0) option.argChoices = [...choices];
  return option;
}

/** Returns the value of a flag. Commander stores `--task-name` as `taskName`. */
export function readFlagValue(values: FlagValues, name: string): unknown {
  return values[name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
}

/**
 * Converts the value of a flag to the value of a field. A comma-separated list becomes an array, and a boolean flag
 * without a value becomes 1.
 */
function toFieldValue(schema: JsonSchema, givenValue: unknown): unknown {
  if (schema.type === 'array')
    return String(givenValue)
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
  if (!isFlag(schema)) return givenValue;
  return givenValue === 'true' || givenValue === 'false'
    ? givenValue === 'true'
    : givenValue === true
      ? '1'
      : givenValue;
}

function bodyFields(body: JsonSchema | undefined): Readonly<Record<string, JsonSchema>> {
  return (body?.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
}

const allowedValues = (schema: JsonSchema): readonly unknown[] => (Array.isArray(schema.enum) ? schema.enum : []);

function choicesOf(schema: JsonSchema): readonly string[] {
  return enumStringsOf(schema.type === 'array' ? (schema.items as JsonSchema) : schema);
}

/** Returns the placeholder that the help shows for a value, such as `id` or `yyyymmdd`. */
function placeholderOf(schema: JsonSchema): string {
  const { format, pattern } = schema;
  if (schema.type === 'array') return 'list';
  if (isFlag(schema)) return 'flag';
  if (allowedValues(schema).length > 0) return 'word';
  if (String(format).startsWith('calendar-time') || pattern === '^\\d{8}$') return 'yyyymmdd';
  if (String(format).startsWith('id') || String(pattern).startsWith('^\\d+$')) return 'id';
  if (format === 'expiry') return 'duration';
  const isNumber = [schema.type].flat().some((type) => type === 'integer' || type === 'number');
  return isNumber ? 'number' : 'text';
}
