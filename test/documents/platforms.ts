import { isFlag, type Properties, propertiesOf, recordOf, requiredOf } from '../../src/api-docs/schema-shape.ts';
import { kinds, resourceTypes } from '../../src/delivery/outbox/event-kinds.ts';
import type { JsonSchema } from '../../src/http/fields/field.ts';
import { pagingParameters } from '../../src/http/routes/pagination.ts';
import type { Route } from '../../src/http/routes/route.ts';

/** Resources that the integrations can create and change, in display order. */
const resources = ['event', 'client', 'project', 'task', 'subtask'] as const;

type Resource = (typeof resources)[number];

/** Parent resource of nested resources. */
const parents: Partial<Record<Resource, Resource>> = { task: 'project', subtask: 'task' };

/**
 * service.json of the integrations: event kinds, and fields, filters and a sample record of each resource.
 * Derived from the route definitions, so that new fields appear in the integrations.
 */
export function platformsDocument(routes: readonly Route[]): string {
  const table = {
    kinds: Object.entries(kinds).map(([name, { resourceType, hooks }]) => ({ name, resourceType, hooks })),
    resourceTypes: resources.map((resourceType) => resourceTypeOf(routes, resourceType)),
  };
  return `${JSON.stringify(table, undefined, 2)}\n`;
}

function resourceTypeOf(routes: readonly Route[], resourceType: Resource) {
  const path = resourceTypes[resourceType].collection;
  const row = (method: Route['method'], at: string) => {
    const found = routes.find((one) => one.method === method && one.path === at);
    if (found === undefined) throw new Error(`no route ${method} ${at}`);
    return found;
  };
  const parent = parents[resourceType];
  const [key, list] = [`${resourceType}_id`, row('GET', path)];
  const creation = row('POST', parent === undefined ? path : `${path}/{${parent}_id}`).body;
  const change = row('PUT', `${path}/{${key}}`).body;
  return {
    name: resourceType,
    plural: path.slice(1),
    key,
    label: `${resourceType}_name`,
    ...(parent === undefined ? {} : { parent: `${parent}_id` }),
    creation: fieldsOf(propertiesOf(creation), requiredOf(creation)),
    change: fieldsOf(propertiesOf(change), []),
    filters: Object.entries(list.parameters)
      .filter(([name]) => !(name in pagingParameters))
      .map(([name, { description, schema }]) => fieldOf(name, { ...schema, description }, false)),
    sample: sampleOf(recordOf(list.answer)),
  };
}

function fieldsOf(properties: Properties, required: readonly string[]) {
  return Object.entries(properties).map(([name, schema]) => fieldOf(name, schema, required.includes(name)));
}

function fieldOf(name: string, schema: JsonSchema, required: boolean) {
  return { name, says: schema.description, ...formOf(schema), ...(required ? { required } : {}) };
}

/** Input type of a field; `words` are the options of a select. */
function formOf(schema: JsonSchema): { readonly form: string; readonly words?: readonly string[] } {
  const { type, format = '', enum: words, pattern } = schema;
  if (Array.isArray(words)) {
    // Select options need a text: "none" is chosen as "0".
    const texts = words.filter((word) => typeof word === 'string' && word !== '');
    return texts.join() === '0,1' ? { form: 'flag' } : { form: 'word', words: texts };
  }
  if (isFlag(schema)) return { form: 'flag' };
  if (type === 'array') return { form: 'ids' };
  if (pattern === '^\\d{8}$') return { form: 'day' };
  if (String(format).startsWith('calendar-time')) return { form: 'date' };
  if (Array.isArray(type) && /^$|decimal/.test(String(format))) return { form: 'number' };
  return { form: 'text' };
}

/** Sample record for the platform's editor. */
function sampleOf(properties: Properties): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, exampleOf(name, schema)]));
}

function exampleOf(name: string, { type, enum: words, pattern = '' }: JsonSchema): unknown {
  if (type === 'number') return 0;
  if (Array.isArray(words)) return words[0];
  if (type === 'array') return [{ user_id: '1', user_name: 'Release Team' }];
  if (String(pattern).includes(':')) return '2027-01-01 00:00:00';
  if (name.endsWith('_id')) return '1';
  return name.endsWith('_name') ? 'Release' : '';
}
