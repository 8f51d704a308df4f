import type { JsonSchema } from '../http/fields/field.ts';
import { idNames, type Route } from '../http/routes/route.ts';
import { propertiesOf, requiredOf } from './schema-shape.ts';

/** An example call of a route, as a shell command and with the SDK. */
export type Example = { readonly curl: string; readonly sdk: string };

/** SDK methods whose names do not follow from the path. */
const SDK_NAMES: Readonly<Record<string, string>> = {
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

/** A call of this route with only its required input. */
export function exampleOf(route: Route, baseUrl: string): Example {
  const url = `${baseUrl}/v2${route.path.replace(/\{\w+\}/g, ID)}`;
  const body = bodyOf(route);
  const lines = [
    `curl${route.method === 'GET' ? '' : ` -X ${route.method}`} '${url}'`,
    `-H "domain: $CARILLON_DOMAIN" -H "key: $CARILLON_KEY"`,
    ...(body === undefined ? [] : [`-H 'content-type: application/json' -d '${JSON.stringify(body)}'`]),
  ];
  return { curl: lines.join(' \\\n  '), sdk: sdkOf(route, body) };
}

function sdkOf(route: Route, body: unknown): string {
  const [collection = '', ...rest] = (route.aliasOf ?? route.path).split('/').filter((part) => part !== '');
  const resourceType = collection.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const name = SDK_NAMES[`${route.method} ${route.path}`] ?? `${resourceType}.${methodOf(route, rest.at(-1) ?? '')}`;
  const args = [...idNames(route.path).map(() => ID), ...(body === undefined ? [] : [literal(body)])];
  return `await carillon.${name}(${args.join(', ')})`;
}

/** The name of the SDK method: the action of the path, or a verb by HTTP method. */
function methodOf(route: Route, last: string): string {
  if (route.method === 'GET') return route.mode === 'follow' || 'offset' in route.parameters ? 'list' : 'get';
  if (route.method === 'PUT') return 'update';
  if (route.method === 'DELETE') return 'delete';
  return route.path.includes('}/') ? last : 'create';
}

function literal(value: unknown): string {
  return JSON.stringify(value)
    .replace(/"(\w+)":/g, ' $1: ')
    .replaceAll('"', "'")
    .replace(/\}$/, ' }');
}

/** The required fields of a body; if there are none, its first field. */
function bodyOf({ body }: Route): Readonly<Record<string, unknown>> | undefined {
  if (body === undefined) return undefined;
  const fields = Object.entries(propertiesOf(body));
  const required = fields.filter(([name]) => requiredOf(body).includes(name));
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
