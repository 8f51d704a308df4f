import { groupByResource, propertiesOf } from '../../api-docs/schema-shape.ts';
import { createSsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { idNamesOf, type Route } from '../../http/routes/route.ts';
import { createLog } from '../../log.ts';
import { createApiRoutes } from '../../resources/index.ts';
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

/** Returns all routes with placeholder dependencies. The commands read the route definitions and never run handlers. */
function allRouteDefinitions(): readonly Route[] {
  const guard = createSsrfGuard({ resolve: async () => ({ addresses: [] }), allow: [], loopbackAllowed: false });
  return createApiRoutes({ guard, random: systemRandom, log: createLog('silent'), baseUrl: () => '' });
}

/** Routes by resource, which is the first segment of their paths. */
export const routesByResourceType = groupByResource(
  allRouteDefinitions().filter(({ aliasOf }) => aliasOf === undefined),
);

/** Returns the verbs of a resource, in the order of its routes. */
export function verbsOf(resourceType: string): readonly ResourceVerb[] {
  return (routesByResourceType.get(resourceType.replaceAll('-', '_')) ?? []).flatMap((row) => [
    createVerb(row),
    ...createCompletionVerbs(row),
  ]);
}

function createVerb(row: Route): ResourceVerb {
  return { commandName: formatVerbName(row), route: row, ids: idNamesOf(row.path), description: row.description };
}

const VERB_NAMES_BY_METHOD = { GET: 'show', POST: 'create', PUT: 'update', DELETE: 'delete' } as const;

/**
 * Returns the name of a verb, such as `list` or `create`. Path segments after the id are appended, as in
 * `create-secret`. The name of an action consists of these segments only, as in `test`.
 */
function formatVerbName(row: Route): string {
  const suffixSegments = row.path.split('/').filter((segment, index) => index > 1 && !segment.startsWith('{'));
  if (suffixSegments.length === 0) return isListRoute(row) ? 'list' : VERB_NAMES_BY_METHOD[row.method];
  const isAction = row.method === 'POST' && row.status !== 201;
  return [...(isAction ? [] : [isListRoute(row) ? 'list' : VERB_NAMES_BY_METHOD[row.method]]), ...suffixSegments].join(
    '-',
  );
}

/**
 * Returns the verbs `complete` and `resume`, if the records can be completed (C33). Both are updates with a fixed body.
 */
function createCompletionVerbs(row: Route): readonly ResourceVerb[] {
  const bodyFields = propertiesOf(row.body);
  if (row.method !== 'PUT' || bodyFields.completed === undefined || bodyFields.resume === undefined) return [];
  const verbBase = { route: row, ids: idNamesOf(row.path) };
  return [
    { ...verbBase, commandName: 'complete', fixedBody: { completed: 1 }, description: 'Completes a record.' },
    { ...verbBase, commandName: 'resume', fixedBody: { resume: 1 }, description: 'Reopens a completed record.' },
  ];
}

/** Whether a route returns a list of records, in pages or by cursor. */
export function isListRoute(row: Route): boolean {
  return row.mode === 'follow' || 'offset' in row.parameters;
}
