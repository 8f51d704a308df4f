import { isFlag, type Properties, propertiesOf, recordOf, requiredOf } from '../../src/api-docs/schema-shape.ts';
import { kinds, resourceTypes } from '../../src/delivery/outbox/event-kinds.ts';
import type { JsonSchema } from '../../src/http/fields/field.ts';
import { pagingParameters } from '../../src/http/routes/pagination.ts';
import type { Route } from '../../src/http/routes/route.ts';

/** The nouns that the platforms of integrations/ create and change, in the order they are offered. */
const offered = ['event', 'client', 'project', 'task', 'subtask'] as const;

type Offered = (typeof offered)[number];

/** What is created below another record, by that record's noun. */
const parents: Partial<Record<Offered, Offered>> = { task: 'project', subtask: 'task' };

/**
 * What the packages of integrations/ know of the service: its kinds, and of each noun the fields, the filters and how
 * a record looks. Derived from the rows, so that a field that is added here is offered there.
 */
export function platformsDocument(routes: readonly Route[]): string {
  const table = {
    kinds: Object.entries(kinds).map(([name, { resourceType, hooks }]) => ({ name, resourceType, hooks })),
    resourceTypes: offered.map((resourceType) => resourceTypeOf(routes, resourceType)),
  };
  return `${JSON.stringify(table, undefined, 2)}\n`;
}

function resourceTypeOf(routes: readonly Route[], resourceType: Offered) {
  const path = resourceTypes[resourceType].collection;
  const row = (method: Route['method'], at: string) => {
    const found = routes.find((one) => one.method === method && one.path === at);
    if (found === undefined) throw new Error(`no row ${method} ${at}`);
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

/** How a field is asked for; `words` where it is one of a few. */
function formOf(schema: JsonSchema): { readonly form: string; readonly words?: readonly string[] } {
  const { type, format = '', enum: words, pattern } = schema;
  if (Array.isArray(words)) {
    // Forms have no choice without a text: none is chosen as "0".
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

/** What a platform shows of a record before there is one. */
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
