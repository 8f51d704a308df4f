import type { JsonSchema } from '../http/field.ts';
import type { Route } from '../http/route.ts';

/** Fields by name. */
export type Properties = Readonly<Record<string, JsonSchema>>;

/** The fields of an object. */
export function propertiesOf(schema: JsonSchema | undefined): Properties {
  return (schema?.properties ?? {}) as Properties;
}

/** The fields that an object cannot be without. */
export function requiredOf(schema: JsonSchema | undefined): readonly string[] {
  return (schema?.required ?? []) as readonly string[];
}

/** The fields of the record in an answer: of `{ data }`, of each item of a list, or of what stands at the top. */
export function recordOf(answer: JsonSchema): Properties {
  const properties = propertiesOf(answer);
  const { data } = properties;
  if (data === undefined) return properties;
  return propertiesOf((data.items ?? data) as JsonSchema);
}

/** `must be a …` without its beginning. */
export function formIn(must: unknown): string {
  return String(must).replace(/^must be /, '');
}

/** How a value is answered: its possible words, or what it looks like. */
export function formOf(schema: JsonSchema): { readonly words: readonly string[] } | { readonly is: string } {
  if (schema.type === 'integer')
    return { is: Array.isArray(schema.enum) ? `number, ${schema.enum.join(' or ')}` : 'number' };
  if (Array.isArray(schema.enum)) return { words: schema.enum.map(String) };
  if ('const' in schema) return { words: [String(schema.const)] };
  if (schema.type === 'array') return { is: listForm(schema.items as JsonSchema) };
  if (schema.pattern === '^\\d{4}-\\d{2}-\\d{2}$') return { is: 'YYYY-MM-DD' };
  if (String(schema.pattern ?? '').includes(':')) return { is: 'YYYY-MM-DD HH:MM:SS' };
  return { is: schema.pattern === undefined ? 'string' : 'digits' };
}

function listForm(items: JsonSchema): string {
  const names = Object.keys(propertiesOf(items));
  return names.length === 0 ? 'list of strings' : `list of { ${names.join(', ')} }`;
}

/** The rows of one noun, by the first part of their path. */
export function byNoun(routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> {
  return Map.groupBy(routes, (row) => row.path.split('/')[1] ?? '');
}
