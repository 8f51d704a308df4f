import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';
import type { JsonSchema } from '../../../src/http/fields/field.ts';
import { idNamesOf, type Route } from '../../../src/http/routes/route.ts';
import { apiRoutes, consoleOnlyRoutes } from '../../kit/api/routes.ts';

/** A route in a route group, with one of its methods. A GET route also answers HEAD. */
export type Operation = { readonly routeGroup: string; readonly method: string; readonly row: Route };

export const operationName = ({ routeGroup, method, row }: Operation) => `${method} ${routeGroup}${row.path}`;

/** The routes of each route group. */
export const routeGroups = { '/v2': apiRoutes, '/console/api': [...apiRoutes, ...consoleOnlyRoutes] } as const;

/** Runs `start`. Returns every route that was mounted meanwhile, such as `GET /v2/events/:event_id`. */
export async function recordMountedRoutes<T>(
  start: () => Promise<T>,
): Promise<{ started: T; mounted: readonly string[] }> {
  const mounted: string[] = [];
  const note = ({ method, url }: RouteOptions) => void mounted.push(...[method].flat().map((one) => `${one} ${url}`));
  const listen = (message: unknown) => void (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', note);
  subscribe('fastify.initialization', listen);
  try {
    return { started: await start(), mounted };
  } finally {
    unsubscribe('fastify.initialization', listen);
  }
}

/** Splits mounted routes into known operations and other routes. */
export function classifyRoutes(mounted: readonly string[]): { operations: Operation[]; others: string[] } {
  const known = new Map<string, Operation>();
  for (const [door, rows] of Object.entries(routeGroups)) {
    for (const row of rows) {
      const url = door + row.path.replace(/\{(\w+)\}/g, ':$1');
      known.set(`${row.method} ${url}`, { routeGroup: door, method: row.method, row });
      if (row.method === 'GET') known.set(`HEAD ${url}`, { routeGroup: door, method: 'HEAD', row });
    }
  }
  const found = mounted.map((name) => known.get(name) ?? name);
  return {
    operations: found.filter((one) => typeof one !== 'string'),
    others: found.filter((one) => typeof one === 'string'),
  };
}

/** Parts of a request to an operation. */
export type RequestParts = {
  readonly ids: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Readonly<Record<string, string>>;
};

/** A place in a request that can identify a record. `name` is the name of a parameter or field, such as `client_id`. */
export type IdPlace = {
  readonly where: 'path' | 'query' | 'body' | 'header';
  readonly name: string;
  readonly description: string;
  put(request: RequestParts, value: string): RequestParts;
};

/** Whether the parameter accepts an id or a cursor. */
const takesId = ({ schema }: Route['parameters'][string]) =>
  schema.pattern !== undefined && new RegExp(String(schema.pattern)).test('17');

/** Returns every place in an operation that accepts an id or a cursor. */
export function placesOf({ row }: Pick<Operation, 'row'>): IdPlace[] {
  const inPath = idNamesOf(row.path).map((name) =>
    createPlace('path', name, (request, id) => ({ ...request, ids: { ...request.ids, [name]: id } })),
  );
  const inQuery = Object.entries(row.parameters)
    .filter(([, parameter]) => takesId(parameter))
    .map(([name]) =>
      createPlace('query', name, (request, id) => ({ ...request, query: { ...request.query, [name]: id } })),
    );
  const inHeader =
    row.mode === 'follow'
      ? [
          createPlace('header', 'last-event-id', (request, id) => ({
            ...request,
            headers: { ...request.headers, accept: 'text/event-stream', 'last-event-id': id },
          })),
        ]
      : [];
  return [...inPath, ...inQuery, ...placesInBody(row), ...inHeader];
}

function createPlace(where: IdPlace['where'], name: string, put: IdPlace['put'], form = ''): IdPlace {
  return { where, name, description: `${name}${form} in the ${where}`, put };
}

function placesInBody(row: Route): IdPlace[] {
  const set = (name: string, value: unknown) => (request: RequestParts) => ({
    ...request,
    body: { ...request.body, [name]: value },
  });
  return bodyProperties(row).flatMap(([name, { format, items }]) => {
    if (format === 'id' || format === 'id-or-none')
      return [createPlace('body', name, (request, id) => set(name, id)(request))];
    if ((items as JsonSchema | undefined)?.format !== 'id') return [];
    const key = `${name.replace(/s$/, '')}_id`;
    return [
      createPlace('body', name, (request, id) => set(name, [id])(request), ': [id]'),
      createPlace('body', name, (request, id) => set(name, [{ [key]: id }])(request), `: [{ ${key} }]`),
    ];
  });
}

export function bodyProperties(row: Route): [string, JsonSchema][] {
  return Object.entries((row.bodySchema?.properties ?? {}) as Record<string, JsonSchema>);
}

/** Returns the parameters and fields that are named like an id but are not places, and so would not be tested. */
export function findUntestedIds(row: Route): string[] {
  const places = new Set(placesOf({ row }).map(({ name }) => name));
  const named = [...Object.keys(row.parameters), ...bodyProperties(row).map(([name]) => name)];
  return named.filter((name) => /(^|_)ids?$/.test(name) && !places.has(name));
}
