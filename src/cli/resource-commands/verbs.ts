import { groupByResource, propertiesOf } from '../../api-docs/schema-shape.ts';
import { createSsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { idNames, type Route } from '../../http/routes/route.ts';
import { createLog } from '../../log.ts';
import { allRoutes } from '../../resources/index.ts';
import { systemRandom } from '../../secrets.ts';

/** A subcommand of a resource and the route that it calls. */
export type ResourceVerb = {
  readonly commandName: string;
  readonly route: Route;
  /** Names of the ids in the path of the route. */
  readonly ids: readonly string[];
  /** Fixed body of the request, for a verb such as `complete`, which is a special case of its route. */
  readonly fixedBody?: Readonly<Record<string, unknown>>;
  readonly description: string;
};

/** Returns all routes. Only their descriptions are used, so the dependencies passed in are never called. */
function allRouteDefinitions(): readonly Route[] {
  const guard = createSsrfGuard({ resolve: async () => ({ addresses: [] }), allow: [], loopbackAllowed: false });
  return allRoutes({ guard, random: systemRandom, log: createLog('silent'), baseUrl: () => '' });
}

/** Routes by resource, which is the first segment of their paths. */
export const routesByResourceType = groupByResource(
  allRouteDefinitions().filter(({ aliasOf }) => aliasOf === undefined),
);

/** Returns the verbs of a resource, in the order of its routes. */
export function verbsOf(resourceType: string): readonly ResourceVerb[] {
  return (routesByResourceType.get(resourceType.replaceAll('-', '_')) ?? []).flatMap((row) => [
    createVerb(row),
    ...completionVerbs(row),
  ]);
}

function createVerb(row: Route): ResourceVerb {
  return { commandName: verbName(row), route: row, ids: idNames(row.path), description: row.description };
}

const NAMES_BY_METHOD = { GET: 'show', POST: 'create', PUT: 'update', DELETE: 'delete' } as const;

/**
 * Returns the name of a verb, such as `list` or `create`. Path segments after the id are appended, as in
 * `create-secret`. The name of an action consists of these segments only, as in `test`.
 */
function verbName(row: Route): string {
  const suffix = row.path.split('/').filter((segment, index) => index > 1 && !segment.startsWith('{'));
  if (suffix.length === 0) return isList(row) ? 'list' : NAMES_BY_METHOD[row.method];
  const isAction = row.method === 'POST' && row.status !== 201;
  return [...(isAction ? [] : [isList(row) ? 'list' : NAMES_BY_METHOD[row.method]]), ...suffix].join('-');
}

/**
 * Returns the verbs `complete` and `resume`, if the records can be completed (C33). Both are updates with a fixed body.
 */
function completionVerbs(row: Route): readonly ResourceVerb[] {
  const fields = propertiesOf(row.body);
  if (row.method !== 'PUT' || fields.completed === undefined || fields.resume === undefined) return [];
  const verb = { route: row, ids: idNames(row.path) };
  return [
    { ...verb, commandName: 'complete', fixedBody: { completed: 1 }, description: 'Completes a record.' },
    { ...verb, commandName: 'resume', fixedBody: { resume: 1 }, description: 'Reopens a completed record.' },
  ];
}

/** Whether a route returns a list of records, in pages or by cursor. */
export function isList(row: Route): boolean {
  return row.mode === 'follow' || 'offset' in row.parameters;
}
