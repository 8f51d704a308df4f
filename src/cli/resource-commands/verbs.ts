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
  readonly idNames: readonly string[];
  /** Fixed body of the request, for a verb such as `complete`, which is a special case of its route. */
  readonly fixedBody?: Readonly<Record<string, unknown>>;
  readonly description: string;
};

/** Returns all routes with placeholder dependencies. The commands read the route definitions and never run handlers. */
function createRouteDefinitions(): readonly Route[] {
  const guard = createSsrfGuard({ resolve: async () => ({ addresses: [] }), allowRules: [], isLoopbackAllowed: false });
  return createApiRoutes({ guard, random: systemRandom, log: createLog('silent'), baseUrl: () => '' });
}

/** Routes by resource type, which is the first segment of their paths. */
export const routesByResourceType = groupByResource(
  createRouteDefinitions().filter(({ aliasOf }) => aliasOf === undefined),
);

/** Returns the verbs of a resource, in the order of its routes. */
export function verbsOf(resourceType: string): readonly ResourceVerb[] {
  return (routesByResourceType.get(resourceType.replaceAll('-', '_')) ?? []).flatMap((route) => [
    toVerb(route),
    ...createCompleteAndResumeVerbs(route),
  ]);
}

function toVerb(route: Route): ResourceVerb {
  return { commandName: formatVerbName(route), route, idNames: idNamesOf(route.path), description: route.description };
}

const VERB_NAMES_BY_METHOD = { GET: 'show', POST: 'create', PUT: 'update', DELETE: 'delete' } as const;

/**
 * Returns the name of a verb, such as `list` or `create`. Path segments after the id are appended, as in
 * `create-secret`. The name of an action consists of these segments only, as in `test`.
 */
function formatVerbName(route: Route): string {
  const suffixSegments = route.path.split('/').filter((segment, index) => index > 1 && !segment.startsWith('{'));
  if (suffixSegments.length === 0) return isListRoute(route) ? 'list' : VERB_NAMES_BY_METHOD[route.method];
  const isAction = route.method === 'POST' && route.status !== 201;
  return [
    ...(isAction ? [] : [isListRoute(route) ? 'list' : VERB_NAMES_BY_METHOD[route.method]]),
    ...suffixSegments,
  ].join('-');
}

/**
 * Returns the verbs `complete` and `resume`, if the records can be completed (C33). Both are updates with a fixed body.
 */
function createCompleteAndResumeVerbs(route: Route): readonly ResourceVerb[] {
  const bodyFields = propertiesOf(route.bodySchema);
  if (route.method !== 'PUT' || bodyFields.completed === undefined || bodyFields.resume === undefined) return [];
  const verbBase = { route, idNames: idNamesOf(route.path) };
  return [
    { ...verbBase, commandName: 'complete', fixedBody: { completed: 1 }, description: 'Completes a record.' },
    { ...verbBase, commandName: 'resume', fixedBody: { resume: 1 }, description: 'Reopens a completed record.' },
  ];
}

/** Whether a route returns a list of records, in pages or by cursor. */
export function isListRoute(route: Route): boolean {
  return route.mode === 'follow' || 'offset' in route.parameters;
}
