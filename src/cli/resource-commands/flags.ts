import { type Command, Option } from 'commander';
import { acceptsBooleans, enumStringsOf, requiredNamesOf } from '../../api-docs/schema-shape.ts';
import type { JsonSchema } from '../../http/fields/field.ts';
import type { QueryParameters } from '../../http/routes/query-parameters.ts';
import { flagOf } from '../client/connection-options.ts';
import { CliError } from '../output/screen.ts';

/** Values of the flags, keyed by Commander's camel-case names. */
export type FlagValues = Readonly<Record<string, unknown>>;

/** Adds a flag for each field of a body to a command. */
export function addFieldFlags(command: Command, bodySchema: JsonSchema | undefined, groupTitle = 'Fields:'): void {
  const requiredNames = requiredNamesOf(bodySchema);
  for (const [field, schema] of Object.entries(fieldSchemasOf(bodySchema))) {
    const description = `${schema.description ?? ''}${requiredNames.includes(field) ? ' Required.' : ''}`;
    const placeholder = acceptsBooleans(schema) ? `[${placeholderOf(schema)}]` : `<${placeholderOf(schema)}>`;
    const option = createOption(field, placeholder, description, choicesOf(schema));
    if (schema.type === 'object') option.argParser((text, earlier) => readEntry(flagOf(field), text, earlier));
    command.addOption(option.helpGroup(groupTitle));
  }
}

/**
 * Reads one `name: value` of a flag that is repeated for several; an empty text for none. The error does not show the
 * text, which may be a secret.
 */
function readEntry(flag: string, text: string, earlierEntries: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(earlierEntries ?? {});
  if (text.trim() === '') return Object.fromEntries(entries);
  const [, name = '', value = ''] = /^([^:]*):(.*)$/s.exec(text) ?? [];
  if (name.trim() === '') throw new CliError([`${flag} must be "name: value".`]);
  return Object.fromEntries([...entries, [name.trim(), value.trim()]]);
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
export function buildBodyFromFlags(
  bodySchema: JsonSchema | undefined,
  flagValues: FlagValues,
): Record<string, unknown> {
  const givenFields = Object.entries(fieldSchemasOf(bodySchema)).filter(
    ([field]) => readFlagValue(flagValues, field) !== undefined,
  );
  return Object.fromEntries(
    givenFields.map(([field, schema]) => [field, toFieldValue(schema, readFlagValue(flagValues, field))]),
  );
}

/** Builds a query from the flags that were given. */
export function buildQueryFromFlags(parameters: QueryParameters, flagValues: FlagValues): Record<string, string> {
  const givenNames = Object.keys(parameters).filter((name) => readFlagValue(flagValues, name) !== undefined);
  return Object.fromEntries(givenNames.map((name) => [name, String(readFlagValue(flagValues, name))]));
}

function createOption(name: string, placeholder: string, description: string, choices: readonly string[]): Option {
  const option = new Option(`${flagOf(name)} ${placeholder}`, description);
  // The choices only serve help and completion. The service validates the value, since the service may be newer than
  // this program and accept more values.
  if (choices.length > 0) option.argChoices = [...choices];
  return option;
}

/** Returns the value of a flag. Commander stores `--task-name` as `taskName`. */
export function readFlagValue(flagValues: FlagValues, name: string): unknown {
  return flagValues[name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
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
  if (!acceptsBooleans(schema)) return givenValue;
  return givenValue === 'true' || givenValue === 'false'
    ? givenValue === 'true'
    : givenValue === true
      ? '1'
      : givenValue;
}

function fieldSchemasOf(bodySchema: JsonSchema | undefined): Readonly<Record<string, JsonSchema>> {
  return (bodySchema?.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
}

/** Returns the values of an enum; empty if any value is allowed. */
const allowedValuesOf = (schema: JsonSchema): readonly unknown[] => (Array.isArray(schema.enum) ? schema.enum : []);

/** Returns the words that help and completion suggest for a flag: the values of its enum, or of its list elements. */
function choicesOf(schema: JsonSchema): readonly string[] {
  return enumStringsOf(schema.type === 'array' ? (schema.items as JsonSchema) : schema);
}

/** Returns the placeholder that the help shows for a value, such as `id` or `yyyymmdd`. */
function placeholderOf(schema: JsonSchema): string {
  const { format, pattern } = schema;
  if (schema.type === 'array') return 'list';
  if (schema.type === 'object') return 'name: value';
  if (acceptsBooleans(schema)) return 'flag';
  if (allowedValuesOf(schema).length > 0) return 'word';
  if (String(format).startsWith('calendar-time') || pattern === '^\\d{8}$') return 'yyyymmdd';
  if (String(format).startsWith('id') || String(pattern).startsWith('^\\d+$')) return 'id';
  if (format === 'expiry') return 'duration';
  const isNumber = [schema.type].flat().some((type) => type === 'integer' || type === 'number');
  return isNumber ? 'number' : 'text';
}
