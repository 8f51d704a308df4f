import type { JsonSchema } from '../fields/field.ts';
import { keyOf } from './openapi-schemas.ts';
import type { Route } from './route.ts';

/** Names of operations, request bodies and responses for generated clients. */
export type Names = {
  /** Names of record schemas, by `keyOf(schema)`. */
  readonly records: ReadonlyMap<string, string>;
  operationId(route: Route): string;
  body(route: Route): string;
  /** The name of the response, including its envelope. */
  answer(route: Route): string;
};

/** Derives all names from the paths and methods of the routes: `Task`, `TaskCreate`, `TaskList`, `updateTask`. */
export function namesOf(routes: readonly Route[]): Names {
  const records = new Map<string, string>();
  for (const [matches, name] of KINDS) {
    for (const route of routes.filter(matches)) {
      const key = keyOf(recordIn(route.answer));
      const resourceType = resourceTypeOf(route);
      const isTaken = [...records.values()].includes(resourceType);
      if (!records.has(key)) records.set(key, isTaken || actionOf(route) !== undefined ? name(route) : resourceType);
    }
  }
  const hasTwin = (route: Route) => routes.some((one) => one.path === route.path && one.method !== route.method);
  return {
    records,
    operationId: (route) => operationId(route, hasTwin(route)),
    body: (route) => {
      const action = actionOf(route);
      if (action !== undefined) return `${resourceTypeOf(route)}${pascal(action)}Request`;
      return `${resourceTypeOf(route)}${route.method === 'POST' ? 'Create' : 'Update'}`;
    },
    answer: (route) => {
      if (route.answer.type === 'array') return 'Deleted';
      if (isListed(route)) return `${resourceTypeOf(route)}List`;
      const name = records.get(keyOf(recordIn(route.answer))) ?? resourceTypeOf(route);
      return hasEnvelope(route) ? `${name.replace(/Result$/, '')}Response` : name;
    },
  };
}

/**
 * How record schemas are named, by kind of route, in order of precedence: the first schema of a resource gets
 * the resource's name, a different schema of the same resource a longer one.
 */
const KINDS: readonly (readonly [matches: (route: Route) => boolean, name: (route: Route) => string])[] = [
  [(route) => isRead(route) && !isListed(route) && route.path.endsWith('}'), (route) => resourceTypeOf(route)],
  [(route) => isRead(route) && isListed(route), (route) => `${resourceTypeOf(route)}ListItem`],
  [(route) => isRead(route) && !isListed(route), (route) => `${resourceTypeOf(route)}Detail`],
  [(route) => route.status === 201 && actionOf(route) === undefined, (route) => `${resourceTypeOf(route)}Created`],
  [
    (route) => route.answer.type === 'object',
    (route) =>
      `${resourceTypeOf(route)}${pascal(actionOf(route) ?? 'updated')}${actionOf(route) === undefined ? '' : 'Result'}`,
  ],
];

const isRead = (route: Route) => route.method === 'GET' && route.answer.type === 'object';
const dataOf = ({ answer }: Route) => (answer.properties as Readonly<Record<string, JsonSchema>> | undefined)?.data;
const hasEnvelope = (route: Route) => dataOf(route) !== undefined;
const isListed = (route: Route) => dataOf(route)?.type === 'array';

/** The record schema of a response: `data`, the items of `data`, or the response itself. */
export function recordIn(response: JsonSchema): JsonSchema {
  const { data } = (response.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  return data === undefined ? response : ((data.items ?? data) as JsonSchema);
}

function operationId(route: Route, hasTwin: boolean): string {
  const [resourceType, action] = [resourceTypeOf(route), actionOf(route)];
  const alias = route.aliasOf === undefined ? '' : 'Alias';
  if (action !== undefined && route.method === 'POST' && !hasTwin)
    return `${camel(action)}${route.path.includes('{') ? resourceType : pascal(partsOf(route)[0] ?? '')}${alias}`;
  const subject = `${resourceType}${action === undefined ? '' : pascal(action)}`;
  if (route.method !== 'GET') return `${VERBS[route.method]}${subject}${alias}`;
  if (isListed(route))
    return `list${pascal(partsOf(route)[0] ?? '')}${action === undefined ? '' : pascal(action)}${alias}`;
  return `get${route.path.includes('{') ? '' : 'Current'}${subject}${alias}`;
}

const VERBS = { POST: 'create', PUT: 'update', DELETE: 'delete' } as const;

/** The segments of the canonical path. */
const partsOf = ({ path, aliasOf }: Route) => (aliasOf ?? path).split('/').filter((part) => part !== '');

/** The resource type of a route: `TimeEntry` for `/time_entries/{entry_id}`. */
export function resourceTypeOf(route: Route): string {
  const [collection = ''] = partsOf(route);
  return pascal(collection.replace(/ies$/, 'y').replace(/s$/, ''));
}

/** The last path segment after the resource and its id, such as `restore`. */
function actionOf(route: Route): string | undefined {
  const [, ...rest] = partsOf(route);
  return rest.filter((part) => !part.startsWith('{')).at(-1);
}

const pascal = (text: string) => text.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
const camel = (text: string) => text.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
