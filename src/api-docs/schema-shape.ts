import type { JsonSchema } from '../http/fields/field.ts';
import { idNames, type Route } from '../http/routes/route.ts';

/** An example call of a route, as a shell command and with the SDK. */
export type ExampleCall = { readonly curl: string; readonly sdk: string };

/** SDK methods whose names do not follow from the path. */
const SDK_METHOD_NAMES: Readonly<Record<string, string>> = {
  'DELETE /calendars/{calendar_id}': 'calendars.revoke',
  'DELETE /keys/{key_id}': 'keys.revoke',
  'DELETE /hooks/{hook_id}/secret': 'hooks.deleteSecret',
  'POST /hooks/{hook_id}/secret': 'hooks.createSecret',
  'POST /events/import': 'events.import',
};

const ICS = [
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  'PRODID:-//example.com//calendar//EN',
  'BEGIN:VEVENT',
  'UID:launch@example.com',
  'DTSTART;VALUE=DATE:20270301',
  'SUMMARY:Launch',
  'END:VEVENT',
  'END:VCALENDAR',
  '',
].join('\r\n');

const ID = '1';

/** Returns an example call of a route with only its required input. */
export function exampleCallOf(route: Route, baseUrl: string): ExampleCall {
  const url = `${baseUrl}/v2${route.path.replace(/\{\w+\}/g, ID)}`;
  const body = exampleBodyOf(route);
  const lines = [
    `curl${route.method === 'GET' ? '' : ` -X ${route.method}`} '${url}'`,
    `-H "domain: $CARILLON_DOMAIN" -H "key: $CARILLON_KEY"`,
    ...(body === undefined ? [] : [`-H 'content-type: application/json' -d '${JSON.stringify(body)}'`]),
  ];
  return { curl: lines.join(' \\\n  '), sdk: sdkCallOf(route, body) };
}

function sdkCallOf(route: Route, body: unknown): string {
  const [collection = '', ...rest] = (route.aliasOf ?? route.path).split('/').filter((part) => part !== '');
  const resourceType = collection.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const name =
    SDK_METHOD_NAMES[`${route.method} ${route.path}`] ?? `${resourceType}.${sdkMethodOf(route, rest.at(-1) ?? '')}`;
  const args = [...idNames(route.path).map(() => ID), ...(body === undefined ? [] : [toLiteral(body)])];
  return `await carillon.${name}(${args.join(', ')})`;
}

/** The name of the SDK method: the action of the path, or a verb by HTTP method. */
function sdkMethodOf(route: Route, last: string): string {
  if (route.method === 'GET') return route.mode === 'follow' || 'offset' in route.parameters ? 'list' : 'get';
  if (route.method === 'PUT') return 'update';
  if (route.method === 'DELETE') return 'delete';
  return route.path.includes('}/') ? last : 'create';
}

function toLiteral(value: unknown): string {
  return JSON.stringify(value)
    .replace(/"(\w+)":/g, ' $1: ')
    .replaceAll('"', "'")
    .replace(/\}$/, ' }');
}

/** The example body of a route: its required fields; if there are none, its first field. */
function exampleBodyOf({ body }: Route): Readonly<Record<string, unknown>> | undefined {
  if (body === undefined) return undefined;
  const fields = Object.entries(propertiesOf(body));
  const required = fields.filter(([name]) => requiredNamesOf(body).includes(name));
  const shown = required.length > 0 ? required : fields.slice(0, 1);
  return Object.fromEntries(shown.map(([name, schema]) => [name, exampleValue(name, schema)]));
}

function exampleValue(name: string, schema: JsonSchema): unknown {
  if (Array.isArray(schema.enum)) return schema.enum.includes('new_event') ? 'new_event' : schema.enum[0];
  if (name === 'overlap') return 3_600;
  if (name === 'ics') return ICS;
  if (name === 'target_url') return 'https://app.example/bell-7f3k2q9d';
  if (name === 'email') return 'office@example.com';
  if (name === 'permissions') return ['events:read'];
  if (name === 'seconds') return 3_600;
  if (String(schema.format).startsWith('calendar-')) return name === 'start_date' ? '20270301' : '20270302';
  return 'Launch';
}

export type SchemaProperties = Readonly<Record<string, JsonSchema>>;

export function propertiesOf(schema: JsonSchema | undefined): SchemaProperties {
  return (schema?.properties ?? {}) as SchemaProperties;
}

export function requiredNamesOf(schema: JsonSchema | undefined): readonly string[] {
  return (schema?.required ?? []) as readonly string[];
}

/**
 * The fields of the record in a response. The record is `data`, an item of a list in `data`, or the response itself.
 */
export function recordPropertiesOf(answer: JsonSchema): SchemaProperties {
  const properties = propertiesOf(answer);
  const { data } = properties;
  if (data === undefined) return properties;
  return propertiesOf((data.items ?? data) as JsonSchema);
}

/** Returns the error message `must be a …` without `must be`, to describe the expected form. */
export function expectedForm(must: unknown): string {
  return String(must).replace(/^must be /, '');
}

/**
 * The string values of an enumeration. "0" is included only if "1" is a value, too; otherwise "0" is an alias for none.
 */
export function enumTextsOf(schema: JsonSchema): readonly string[] {
  const words = Array.isArray(schema.enum) ? schema.enum : [];
  const texts = words.filter((word): word is string => typeof word === 'string');
  return texts.includes('1') ? texts : texts.filter((word) => word !== '0');
}

/** Whether a field accepts booleans. */
export function isFlag({ enum: words, type }: JsonSchema): boolean {
  return Array.isArray(words) ? words.includes(true) : Array.isArray(type) && type.includes('boolean');
}

/** The form of an output value: its possible values, or a description of its format. */
export function outputForm(schema: JsonSchema): { readonly words: readonly string[] } | { readonly is: string } {
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

/** Groups routes by resource, which is the first segment of the path. */
export function groupByResource(routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> {
  return Map.groupBy(routes, (row) => row.path.split('/')[1] ?? '');
}
