import type { JsonSchema } from '../http/fields/field.ts';
import { idNamesOf, type Route } from '../http/routes/route.ts';

/** An example call of a route: as a curl command, and as a line of code that uses the SDK. */
type ExampleCall = { readonly curl: string; readonly sdk: string };

/** Names of the SDK methods that cannot be derived from the path. */
const SDK_METHOD_NAMES: Readonly<Record<string, string>> = {
  'DELETE /calendars/{calendar_id}': 'calendars.revoke',
  'DELETE /keys/{key_id}': 'keys.revoke',
  'DELETE /hooks/{hook_id}/secret': 'hooks.deleteSecret',
  'POST /hooks/{hook_id}/secret': 'hooks.createSecret',
  'POST /events/import': 'events.import',
};

const EXAMPLE_ICS = [
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

const EXAMPLE_ID = '1';

/** Returns an example call of a route with only its required input. */
export function createExampleCall(route: Route, baseUrl: string): ExampleCall {
  const url = `${baseUrl}/v2${route.path.replace(/\{\w+\}/g, EXAMPLE_ID)}`;
  const exampleBody = createExampleBody(route);
  const curlLines = [
    `curl${route.method === 'GET' ? '' : ` -X ${route.method}`} '${url}'`,
    `-H "domain: $CARILLON_DOMAIN" -H "key: $CARILLON_KEY"`,
    ...(exampleBody === undefined ? [] : [`-H 'content-type: application/json' -d '${JSON.stringify(exampleBody)}'`]),
  ];
  return { curl: curlLines.join(' \\\n  '), sdk: renderSdkCall(route, exampleBody) };
}

function renderSdkCall(route: Route, body: unknown): string {
  const [collection = '', ...subpathSegments] = (route.aliasOf ?? route.path).split('/').filter((part) => part !== '');
  const resourceType = collection.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const methodName =
    SDK_METHOD_NAMES[`${route.method} ${route.path}`] ??
    `${resourceType}.${sdkMethodNameOf(route, subpathSegments.at(-1) ?? '')}`;
  const sdkArguments = [
    ...idNamesOf(route.path).map(() => EXAMPLE_ID),
    ...(body === undefined ? [] : [formatJsLiteral(body)]),
  ];
  return `await carillon.${methodName}(${sdkArguments.join(', ')})`;
}

/** Returns the name of the SDK method: the action at the end of the path, or a verb for the HTTP method. */
function sdkMethodNameOf(route: Route, lastSegment: string): string {
  if (route.method === 'GET') return route.mode === 'follow' || 'offset' in route.parameters ? 'list' : 'get';
  if (route.method === 'PUT') return 'update';
  if (route.method === 'DELETE') return 'delete';
  return route.path.includes('}/') ? lastSegment : 'create';
}

function formatJsLiteral(value: unknown): string {
  return JSON.stringify(value)
    .replace(/"(\w+)":/g, ' $1: ')
    .replaceAll('"', "'")
    .replace(/\}$/, ' }');
}

/** Creates the example body of a route: its required fields, or its first field if no field is required. */
function createExampleBody(route: Route): Readonly<Record<string, unknown>> | undefined {
  const { bodySchema } = route;
  if (bodySchema === undefined) return undefined;
  const fields = Object.entries(propertiesOf(bodySchema));
  // A hook needs `event` or `events`, so neither is required by the schema.
  const requiredNames = [...requiredNamesOf(bodySchema), ...(route.method === 'POST' ? ['event'] : [])];
  const requiredFields = fields.filter(([name]) => requiredNames.includes(name));
  const exampleFields = requiredFields.length > 0 ? requiredFields : fields.slice(0, 1);
  return Object.fromEntries(exampleFields.map(([name, schema]) => [name, createExampleValue(name, schema)]));
}

function createExampleValue(name: string, schema: JsonSchema): unknown {
  if (Array.isArray(schema.enum)) return schema.enum.includes('new_event') ? 'new_event' : schema.enum[0];
  if (name === 'overlap') return 3_600;
  if (name === 'ics') return EXAMPLE_ICS;
  if (name === 'target_url') return 'https://app.example/bell-7f3k2q9d';
  if (name === 'email') return 'office@example.com';
  if (name === 'permissions') return ['events:read'];
  if (name === 'seconds') return 3_600;
  if (name === 'from' || name === 'to') return name === 'from' ? '20270301' : '20270302';
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
 * Returns the schemas of the fields of the record in a response. The record is `data`, an item of the list in `data`,
 * or the response itself.
 */
export function recordPropertiesOf(responseSchema: JsonSchema): SchemaProperties {
  const properties = propertiesOf(responseSchema);
  const { data } = properties;
  if (data === undefined) return properties;
  return propertiesOf((data.items ?? data) as JsonSchema);
}

/** Describes the expected form of a value: the error message `must be a …` without `must be`. */
export function describeExpectedForm(errorMessage: unknown): string {
  return String(errorMessage).replace(/^must be /, '');
}

/**
 * Returns the string values of an enumeration. A "0" without a "1" is omitted: it is not the flag "false", but an alias
 * of the empty value.
 */
export function enumStringsOf(schema: JsonSchema): readonly string[] {
  const enumValues = Array.isArray(schema.enum) ? schema.enum : [];
  const stringValues = enumValues.filter((enumValue): enumValue is string => typeof enumValue === 'string');
  return stringValues.includes('1') ? stringValues : stringValues.filter((enumValue) => enumValue !== '0');
}

/** Whether a field accepts booleans. */
export function acceptsBooleans({ enum: enumValues, type }: JsonSchema): boolean {
  return Array.isArray(enumValues) ? enumValues.includes(true) : Array.isArray(type) && type.includes('boolean');
}

/** Describes the form of an output value, either by its possible values or by its format. */
export function describeOutputForm(
  schema: JsonSchema,
): { readonly words: readonly string[] } | { readonly format: string } {
  if (schema.type === 'integer')
    return { format: Array.isArray(schema.enum) ? `number, ${schema.enum.join(' or ')}` : 'number' };
  if (schema.type === 'number') return { format: 'number' };
  if (Array.isArray(schema.enum)) return { words: schema.enum.map(String) };
  if ('const' in schema) return { words: [String(schema.const)] };
  if (schema.type === 'array') return { format: describeListForm(schema.items as JsonSchema) };
  if (schema.pattern === '^\\d{4}-\\d{2}-\\d{2}$') return { format: 'YYYY-MM-DD' };
  if (String(schema.pattern ?? '').includes(':')) return { format: 'YYYY-MM-DD HH:MM:SS' };
  if (String(schema.pattern ?? '').includes('.')) return { format: 'decimal number, as a string' };
  return { format: schema.pattern === undefined ? 'string' : 'digits' };
}

function describeListForm(items: JsonSchema): string {
  const itemPropertyNames = Object.keys(propertiesOf(items));
  return itemPropertyNames.length === 0 ? 'list of strings' : `list of { ${itemPropertyNames.join(', ')} }`;
}

/** Groups routes by resource, which is the first segment of the path. */
export function groupByResource(routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> {
  return Map.groupBy(routes, (route) => route.path.split('/')[1] ?? '');
}
