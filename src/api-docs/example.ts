import type { JsonSchema } from '../http/fields/field.ts';
import { idNames, type Route } from '../http/routes/route.ts';
import { propertiesOf, requiredOf } from './schema-shape.ts';

/** One call of a route, ready to be pasted: for a shell, and with the SDK. */
export type Example = { readonly curl: string; readonly sdk: string };

/** What the SDK calls otherwise than the address does. */
const OTHERWISE: Readonly<Record<string, string>> = {
  'DELETE /calendars/{calendar_id}': 'calendars.revoke',
  'DELETE /keys/{key_id}': 'keys.revoke',
  'DELETE /hooks/{hook_id}/secret': 'hooks.deleteSecret',
  'POST /hooks/{hook_id}/secret': 'hooks.createSecret',
  'POST /events/import': 'events.import',
};

/** A small file of a calendar. */
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

/** Every id of an example. */
const ID = '1';

/** A call of this route as somebody would make it, with what it requires and nothing else. */
export function exampleOf(row: Route, baseUrl: string): Example {
  const address = `${baseUrl}/v2${row.path.replace(/\{\w+\}/g, ID)}`;
  const body = bodyOf(row);
  const lines = [
    `curl${row.method === 'GET' ? '' : ` -X ${row.method}`} '${address}'`,
    `-H "domain: $CARILLON_DOMAIN" -H "key: $CARILLON_KEY"`,
    ...(body === undefined ? [] : [`-H 'content-type: application/json' -d '${JSON.stringify(body)}'`]),
  ];
  return { curl: lines.join(' \\\n  '), sdk: sdkOf(row, body) };
}

function sdkOf(row: Route, body: unknown): string {
  const [collection = '', ...rest] = (row.aliasOf ?? row.path).split('/').filter((part) => part !== '');
  const resourceType = collection.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const name = OTHERWISE[`${row.method} ${row.path}`] ?? `${resourceType}.${methodOf(row, rest.at(-1) ?? '')}`;
  const taken = [...idNames(row.path).map(() => ID), ...(body === undefined ? [] : [literal(body)])];
  return `await carillon.${name}(${taken.join(', ')})`;
}

/** What the SDK calls it: what is asked for by its own word, all else by what is done. */
function methodOf(row: Route, last: string): string {
  if (row.method === 'GET') return row.mode === 'follow' || 'offset' in row.parameters ? 'list' : 'get';
  if (row.method === 'PUT') return 'update';
  if (row.method === 'DELETE') return 'delete';
  return row.path.includes('}/') ? last : 'create';
}

function literal(value: unknown): string {
  return JSON.stringify(value)
    .replace(/"(\w+)":/g, ' $1: ')
    .replaceAll('"', "'")
    .replace(/\}$/, ' }');
}

/** The fields that a creation requires; of a change, where none is, the first that can be given. */
function bodyOf({ body }: Route): Readonly<Record<string, unknown>> | undefined {
  if (body === undefined) return undefined;
  const fields = Object.entries(propertiesOf(body));
  const required = fields.filter(([name]) => requiredOf(body).includes(name));
  const some = required.length > 0 ? required : fields.slice(0, 1);
  return Object.fromEntries(some.map(([name, schema]) => [name, given(name, schema)]));
}

function given(name: string, schema: JsonSchema): unknown {
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
