import { byResourceType, propertiesOf } from '../../api-docs/schema-shape.ts';
import { createSsrfGuard } from '../../delivery/transport/ssrf-guard.ts';
import { idNames, type Route } from '../../http/routes/route.ts';
import { createLog } from '../../log.ts';
import { allRoutes } from '../../resources/index.ts';
import { systemRandom } from '../../secrets.ts';

/** What the command line can do with a noun: a word, and the row of the interface that does it. */
export type Verb = {
  readonly word: string;
  readonly row: Route;
  /** The names of the ids in its path. */
  readonly ids: readonly string[];
  /** What it always sends, where the row can do more than the word says. */
  readonly sends?: Readonly<Record<string, unknown>>;
  readonly says: string;
};

/** Every row, for reading: what it needs from outside is never called. */
function interfaceRows(): readonly Route[] {
  const guard = createSsrfGuard({ resolve: async () => ({ addresses: [] }), allow: [], loopbackAllowed: false });
  return allRoutes({ guard, random: systemRandom, log: createLog('silent'), baseUrl: () => '' });
}

/** What each noun has, by the first step of its paths. */
export const rowsByResourceType = byResourceType(interfaceRows().filter(({ aliasOf }) => aliasOf === undefined));

/** What can be done with a noun, in the order of its rows. */
export function verbsOf(resourceType: string): readonly Verb[] {
  return (rowsByResourceType.get(resourceType.replaceAll('-', '_')) ?? []).flatMap((row) => [
    verbOf(row),
    ...completions(row),
  ]);
}

function verbOf(row: Route): Verb {
  return { word: wordOf(row), row, ids: idNames(row.path), says: row.description };
}

const WORDS = { GET: 'show', POST: 'create', PUT: 'update', DELETE: 'delete' } as const;

/** `list`, `show`, `create`, …; what stands behind the id of a record is a word of its own: `test`, `create-secret`. */
function wordOf(row: Route): string {
  const behind = row.path.split('/').filter((step, index) => index > 1 && !step.startsWith('{'));
  if (behind.length === 0) return isList(row) ? 'list' : WORDS[row.method];
  const isAsked = row.method === 'POST' && row.status !== 201;
  return [...(isAsked ? [] : [isList(row) ? 'list' : WORDS[row.method]]), ...behind].join('-');
}

/** C33: a noun that can be completed is completed and reopened by a change. */
function completions(row: Route): readonly Verb[] {
  const fields = propertiesOf(row.body);
  if (row.method !== 'PUT' || fields.completed === undefined || fields.resume === undefined) return [];
  const verb = { row, ids: idNames(row.path) };
  return [
    { ...verb, word: 'complete', sends: { completed: 1 }, says: 'Completes it.' },
    { ...verb, word: 'resume', sends: { resume: 1 }, says: 'Opens it again.' },
  ];
}

/** Whether a row answers many records: by pages, or by cursor. */
export function isList(row: Route): boolean {
  return row.mode === 'follow' || 'offset' in row.parameters;
}
