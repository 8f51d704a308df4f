import type { Route } from '../../../src/http/routes/route.ts';
import type { AccountTable } from '../../../src/store/tables.ts';
import { tables, tablesNotExported } from '../../../src/transfer/exported-tables.ts';
import type { Answer, TestService } from '../../kit/service/service.ts';
import type { Place } from './operations.ts';

/**
 * Expected response about a record of another user of the same account: `shared` is readable by all (C2),
 * `refused` is 401 not_permitted (C13, C14), `hidden` looks like an unknown id.
 */
export type Rule = 'shared' | 'refused' | 'hidden';

const rules: Readonly<Record<string, Rule>> = {
  'path client_id': 'shared',
  'path comment_id': 'shared',
  'path contact_id': 'shared',
  'path project_id': 'shared',
  'path task_id': 'shared',
  'path subtask_id': 'shared',
  'path entry_id': 'shared',
  'path event_id': 'shared',
  'path user_id': 'shared',
  'path team_id': 'shared',
  'path hook_id': 'refused',
  'path delivery_id': 'refused',
  'path key_id': 'hidden',
  'path calendar_id': 'hidden',
  'path session_id': 'hidden',
  'body client_id': 'shared',
  'body project_id': 'shared',
  'body task_id': 'shared',
  'body parent_id': 'shared',
  'body subtask_id': 'shared',
  'body users': 'shared',
  'body teams': 'shared',
  // Rejected before the user is looked up.
  'body user_id': 'refused',
  'query client_id': 'shared',
  'query project_id': 'shared',
  'query task_id': 'shared',
  'query subtask_id': 'shared',
  'query parent_id': 'shared',
  'query team_id': 'shared',
  'query hook_id': 'hidden',
  'query user_id': 'refused',
  'query after': 'shared',
  'query before': 'shared',
  'header last-event-id': 'shared',
};

/** Routes for which a place has another rule. */
const exceptions: Readonly<Record<string, Rule>> = {
  // X1: 404 if it is not an ended hook of the caller.
  'POST /hooks/{hook_id}/restore path hook_id': 'hidden',
  // The hook is checked first.
  'GET /activity query hook_id': 'refused',
  // Filters by assigned users, which are visible to all.
  'GET /subtasks query user_id': 'shared',
  'GET /time_entries query user_id': 'shared',
  // Filters within the list that the caller may see.
  'GET /keys query user_id': 'hidden',
  'GET /calendars query user_id': 'hidden',
};

/** Undefined if no rule is defined yet. */
export function ruleFor({ method, path }: Route, { where, name }: Place): Rule | undefined {
  return exceptions[`${method} ${path} ${where} ${name}`] ?? rules[`${where} ${name}`];
}

/** Headers that differ between any two responses. */
const varyingHeaders = ['date', 'x-request-id'];

/** Everything that a caller can compare of two responses. */
export function bytesOf({ status, headers, text }: Pick<Answer, 'status' | 'headers' | 'text'>): string {
  const comparable = [...headers].filter(([name]) => !varyingHeaders.includes(name)).sort();
  return JSON.stringify([status, comparable, text]);
}

/**
 * Members of a body that must have equal values in both responses: the problem code, and the counters of an
 * import.
 */
const stableMembers = ['code', 'created', 'changed', 'unchanged', 'deleted'];

/** Structure of a response without new values: status, header names, member names, and the values of `stableMembers`. */
function outlineOf({ status, headers, json }: Pick<Answer, 'status' | 'headers' | 'json'>): string {
  return JSON.stringify([status, [...headers.keys()].sort(), outline(json, '')]);
}

function outline(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => outline(item, ''));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, outline(inner, key)]));
  return stableMembers.includes(name) ? value : typeof value;
}

/** Returns what a response reveals; undefined if nothing. */
export type ResponseCheck = (foreign: Answer, unknown: Answer) => string | undefined;

const describe = ({ status, text }: Answer) => `${status} ${text.slice(0, 200)}`;

/** The response must equal that for an id that was never issued, byte for byte. */
export const hidden: ResponseCheck = (foreign, unknown) =>
  bytesOf(foreign) === bytesOf(unknown)
    ? undefined
    : `got ${describe(foreign)}, and for an unknown id ${describe(unknown)}`;

/** The response must have the same structure as for a value that was never used. */
export const looksUnused: ResponseCheck = (foreign, unknown) =>
  outlineOf(foreign) === outlineOf(unknown)
    ? undefined
    : `got ${describe(foreign)}, and for an unused value ${describe(unknown)}`;

/** C13, C14: the response is 401 not_permitted, since the record belongs to another user of the account. */
export const notPermitted: ResponseCheck = (foreign) =>
  foreign.status === 401 && (foreign.text === '' || foreign.json.code === 'not_permitted')
    ? undefined
    : `got ${describe(foreign)}, not 401 not_permitted`;

/** C2: every user of the account can read the record. */
export const shared: ResponseCheck = (foreign) =>
  foreign.status === 200 ? undefined : `got ${describe(foreign)}, not 200`;

/** Whether a response contains the mark of another tenant. */
export function markIn(mark: string, { headers, text }: Pick<Answer, 'headers' | 'text'>): boolean {
  return text.includes(mark) || [...headers].some(([, value]) => value.includes(mark));
}

/** Expiry time of expired sessions. */
export const EXPIRED = 1;

/** Columns that change on reads or between nodes. */
const varyingColumns = ['last_used', 'lease_owner'];

const everyTable: readonly AccountTable[] = [...tables, ...tablesNotExported];

/** All rows of an account, one line each, without values that change on reads or over time. */
export async function rowsOf(
  { store }: Pick<TestService, 'store'>,
  domain: string,
  but: readonly string[] = [],
): Promise<Set<string>> {
  const { account_id } = await store.read
    .selectFrom('accounts')
    .select('account_id')
    .where('domain', '=', domain)
    .executeTakeFirstOrThrow();
  const lines = new Set<string>();
  for (const table of everyTable.filter((one) => !but.includes(one))) {
    const rows: object[] = await store.read
      .selectFrom(table)
      .selectAll()
      .where('account_id', '=', account_id)
      .execute();
    // Expired rows are deleted by retention.
    for (const row of rows.filter((one) => !('expires_at' in one && one.expires_at === EXPIRED)))
      lines.add(`${table} ${JSON.stringify(row, (name, value) => (varyingColumns.includes(name) ? null : value))}`);
  }
  return lines;
}

/** Lines of `before` that are missing in `after`. */
export function missing(before: ReadonlySet<string>, after: ReadonlySet<string>): string[] {
  return [...before].filter((line) => !after.has(line));
}

/** Differences: `- ` for removed lines, `+ ` for added ones. */
export function changes(before: ReadonlySet<string>, after: ReadonlySet<string>): string[] {
  return [...missing(before, after).map((line) => `- ${line}`), ...missing(after, before).map((line) => `+ ${line}`)];
}
