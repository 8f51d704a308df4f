import type { JsonSchema } from '../fields/field.ts';
import { keyOf } from './openapi-schemas.ts';
import type { Route } from './route.ts';

/** The names that generated clients give to what a row does, takes and answers. */
export type Names = {
  /** Records, by their schema as `keyOf` has it. */
  readonly records: ReadonlyMap<string, string>;
  operationId(row: Route): string;
  body(row: Route): string;
  /** The name of the whole answer. */
  answer(row: Route): string;
};

/** Derives every name from the paths and methods of the rows: `Task`, `TaskCreate`, `TaskList`, `updateTask`. */
export function namesOf(rows: readonly Route[]): Names {
  const records = new Map<string, string>();
  for (const [kind, say] of KINDS) {
    for (const row of rows.filter(kind)) {
      const key = keyOf(recordIn(row.answer));
      const resourceType = resourceTypeOf(row);
      const isTaken = [...records.values()].includes(resourceType);
      if (!records.has(key)) records.set(key, isTaken || actionOf(row) !== undefined ? say(row) : resourceType);
    }
  }
  const hasTwin = (row: Route) => rows.some((one) => one.path === row.path && one.method !== row.method);
  return {
    records,
    operationId: (row) => operationId(row, hasTwin(row)),
    body: (row) => {
      const action = actionOf(row);
      if (action !== undefined) return `${resourceTypeOf(row)}${pascal(action)}Request`;
      return `${resourceTypeOf(row)}${row.method === 'POST' ? 'Create' : 'Update'}`;
    },
    answer: (row) => {
      if (row.answer.type === 'array') return 'Deleted';
      if (isListed(row)) return `${resourceTypeOf(row)}List`;
      const name = records.get(keyOf(recordIn(row.answer))) ?? resourceTypeOf(row);
      return hasEnvelope(row) ? `${name.replace(/Result$/, '')}Response` : name;
    },
  };
}

/** A noun is called by its own name in the first of these rows that answers it; another record of it by more. */
const KINDS: readonly (readonly [is: (row: Route) => boolean, say: (row: Route) => string])[] = [
  [(row) => isRead(row) && !isListed(row) && row.path.endsWith('}'), (row) => resourceTypeOf(row)],
  [(row) => isRead(row) && isListed(row), (row) => `${resourceTypeOf(row)}ListItem`],
  [(row) => isRead(row) && !isListed(row), (row) => `${resourceTypeOf(row)}Detail`],
  [(row) => row.status === 201 && actionOf(row) === undefined, (row) => `${resourceTypeOf(row)}Created`],
  [
    (row) => row.answer.type === 'object',
    (row) =>
      `${resourceTypeOf(row)}${pascal(actionOf(row) ?? 'updated')}${actionOf(row) === undefined ? '' : 'Result'}`,
  ],
];

const isRead = (row: Route) => row.method === 'GET' && row.answer.type === 'object';
const dataOf = ({ answer }: Route) => (answer.properties as Readonly<Record<string, JsonSchema>> | undefined)?.data;
const hasEnvelope = (row: Route) => dataOf(row) !== undefined;
const isListed = (row: Route) => dataOf(row)?.type === 'array';

/** The record in an answer: in `data`, each of `data`, or the answer itself. */
export function recordIn(answer: JsonSchema): JsonSchema {
  const { data } = (answer.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  return data === undefined ? answer : ((data.items ?? data) as JsonSchema);
}

function operationId(row: Route, hasTwin: boolean): string {
  const [resourceType, action] = [resourceTypeOf(row), actionOf(row)];
  const alias = row.aliasOf === undefined ? '' : 'Alias';
  if (action !== undefined && row.method === 'POST' && !hasTwin)
    return `${camel(action)}${row.path.includes('{') ? resourceType : pascal(partsOf(row)[0] ?? '')}${alias}`;
  const what = `${resourceType}${action === undefined ? '' : pascal(action)}`;
  if (row.method !== 'GET') return `${VERBS[row.method]}${what}${alias}`;
  if (isListed(row)) return `list${pascal(partsOf(row)[0] ?? '')}${action === undefined ? '' : pascal(action)}${alias}`;
  return `get${row.path.includes('{') ? '' : 'Current'}${what}${alias}`;
}

const VERBS = { POST: 'create', PUT: 'update', DELETE: 'delete' } as const;

/** The parts of a path, in its usual spelling. */
const partsOf = ({ path, aliasOf }: Route) => (aliasOf ?? path).split('/').filter((part) => part !== '');

/** What a row is about: `/time_entries/{entry_id}` is about a `TimeEntry`. */
export function resourceTypeOf(row: Route): string {
  const [collection = ''] = partsOf(row);
  return pascal(collection.replace(/ies$/, 'y').replace(/s$/, ''));
}

/** What stands behind the noun and its id: `restore`. */
function actionOf(row: Route): string | undefined {
  const [, ...rest] = partsOf(row);
  return rest.filter((part) => !part.startsWith('{')).at(-1);
}

const pascal = (text: string) => text.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
const camel = (text: string) => text.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
