import type { JsonSchema } from '../http/fields/field.ts';
import type { Route } from '../http/routes/route.ts';

export type Properties = Readonly<Record<string, JsonSchema>>;

export function propertiesOf(schema: JsonSchema | undefined): Properties {
  return (schema?.properties ?? {}) as Properties;
}

export function requiredOf(schema: JsonSchema | undefined): readonly string[] {
  return (schema?.required ?? []) as readonly string[];
}

/** The fields of the record in a response: of `data`, of the items of a list, or of the response itself. */
export function recordOf(answer: JsonSchema): Properties {
  const properties = propertiesOf(answer);
  const { data } = properties;
  if (data === undefined) return properties;
  return propertiesOf((data.items ?? data) as JsonSchema);
}

/** An error message `must be a …` without `must be`. */
export function formIn(must: unknown): string {
  return String(must).replace(/^must be /, '');
}

/** The string values of an enumeration. "0" is included only if "1" is, too; otherwise it is an alias for none. */
export function wordsIn(schema: JsonSchema): readonly string[] {
  const words = Array.isArray(schema.enum) ? schema.enum : [];
  const texts = words.filter((word): word is string => typeof word === 'string');
  return texts.includes('1') ? texts : texts.filter((word) => word !== '0');
}

/** Whether a field accepts booleans. */
export function isFlag({ enum: words, type }: JsonSchema): boolean {
  return Array.isArray(words) ? words.includes(true) : Array.isArray(type) && type.includes('boolean');
}

/** The form of an output value: its possible values, or a description of its format. */
export function formOf(schema: JsonSchema): { readonly words: readonly string[] } | { readonly is: string } {
  if (schema.type === 'integer')
    return { is: Array.isArray(schema.enum) ? `number, ${schema.enum.join(' or ')}` : 'number' };
  if (schema.type === 'number') return { is: 'number' };
  if (Array.isArray(schema.enum)) return { words: schema.enum.map(String) };
  if ('const' in schema) return { words: [String(schema.const)] };
  if (schema.type === 'array') return { is: listForm(schema.items as JsonSchema) };
  if (schema.pattern === '^\\d{4}-\\d{2}-\\d{2}$') return { is: 'YYYY-MM-DD' };
  if (String(schema.pattern ?? '').includes(':')) return { is: 'YYYY-MM-DD HH:MM:SS' };
  if (String(schema.pattern ?? '').includes('.')) return { is: 'decimal number, as a string' };
  return { is: schema.pattern === undefined ? 'string' : 'digits' };
}

function listForm(items: JsonSchema): string {
  const names = Object.keys(propertiesOf(items));
  return names.length === 0 ? 'list of strings' : `list of { ${names.join(', ')} }`;
}

/** The routes by resource, which is the first segment of their path. */
export function byResourceType(routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> {
  return Map.groupBy(routes, (row) => row.path.split('/')[1] ?? '');
}
