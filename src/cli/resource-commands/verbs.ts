import { byResourceType, propertiesOf } from '../../api-docs/schema-shape.ts';
import { createSsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { idNames, type Route } from '../../http/routes/route.ts';
import { createLog } from '../../log.ts';
import { allRoutes } from '../../resources/index.ts';
import { systemRandom } from '../../secrets.ts';

/** A subcommand of a resource and the route that it calls. */
export type Verb = {
  readonly word: string;
  readonly row: Route;
  /** Names of the ids in the path of the route. */
  readonly ids: readonly string[];
  /** Fixed body of the request, for a verb such as `complete`, which is a special case of its route. */
  readonly sends?: Readonly<Record<string, unknown>>;
  readonly description: string;
};

/** Returns all routes. Only their descriptions are used, so the dependencies passed in are never called. */
function allRouteDefinitions(): readonly Route[] {
  const guard = createSsrfGuard({ resolve: async () => ({ addresses: [] }), allow: [], loopbackAllowed: false });
  return allRoutes({ guard, random: systemRandom, log: createLog('silent'), baseUrl: () => '' });
}

/** Routes by resource, which is the first segment of their paths. */
export const rowsByResourceType = byResourceType(allRouteDefinitions().filter(({ aliasOf }) => aliasOf === undefined));

/** Returns the verbs of a resource, in the order of its routes. */
export function verbsOf(resourceType: string): readonly Verb[] {
  return (rowsByResourceType.get(resourceType.replaceAll('-', '_')) ?? []).flatMap((row) => [
    verbOf(row),
    ...completions(row),
  ]);
}

function verbOf(row: Route): Verb {
  return { word: wordOf(row), row, ids: idNames(row.path), description: row.description };
}

const WORDS = { GET: 'show', POST: 'create', PUT: 'update', DELETE: 'delete' } as const;

/**
 * Returns the name of a verb, such as `list` or `create`. Path segments after the id are appended, as in
 * `create-secret`. The name of an action consists of these segments only, as in `test`.
 */
function wordOf(row: Route): string {
  const suffix = row.path.split('/').filter((segment, index) => index > 1 && !segment.startsWith('{'));
  if (suffix.length === 0) return isList(row) ? 'list' : WORDS[row.method];
  const isAction = row.method === 'POST' && row.status !== 201;
  return [...(isAction ? [] : [isList(row) ? 'list' : WORDS[row.method]]), ...suffix].join('-');
}

/**
 * Returns the verbs `complete` and `resume`, if the records can be completed (C33). Both are updates with a fixed body.
 */
function completions(row: Route): readonly Verb[] {
  const fields = propertiesOf(row.body);
  if (row.method !== 'PUT' || fields.completed === undefined || fields.resume === undefined) return [];
  const verb = { row, ids: idNames(row.path) };
  return [
    { ...verb, word: 'complete', sends: { completed: 1 }, description: 'Completes a record.' },
    { ...verb, word: 'resume', sends: { resume: 1 }, description: 'Reopens a completed record.' },
  ];
}

/** Whether a route returns a list of records, in pages or by cursor. */
export function isList(row: Route): boolean {
  return row.mode === 'follow' || 'offset' in row.parameters;
}
