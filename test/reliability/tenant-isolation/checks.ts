import type { Route } from '../../../src/http/routes/route.ts';
import type { AccountTable } from '../../../src/store/tables.ts';
import { exportedTables, tablesNotExported } from '../../../src/transfer/exported-tables.ts';
import type { ApiResponse, TestService } from '../../kit/service/service.ts';
import type { IdPlace } from './operations.ts';

/**
 * Expected response about a record of another user of the same account: `shared` is readable by all (C2),
 * `refused` is 401 not_permitted (C13, C14), `hidden` looks like an unknown id.
 */
export type OwnershipRule = 'shared' | 'refused' | 'hidden';

const ownershipRules: Readonly<Record<string, OwnershipRule>> = {
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
  // The request is rejected before the user is looked up.
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

/** Rules of places in single routes, which replace the general rules. */
const ruleExceptions: Readonly<Record<string, OwnershipRule>> = {
  // The response is 404 if the hook is not an ended hook of the caller (X1).
  'POST /hooks/{hook_id}/restore path hook_id': 'hidden',
  // Access to the hook is checked before anything else.
  'GET /activity query hook_id': 'refused',
  // These parameters filter by assigned users, whom all users can see.
  'GET /subtasks query user_id': 'shared',
  'GET /time_entries query user_id': 'shared',
  // These parameters filter within the list that the caller may see.
  'GET /keys query user_id': 'hidden',
  'GET /calendars query user_id': 'hidden',
};

/** Returns the rule for a place in a route, or undefined if no rule is defined yet. */
export function ruleFor({ method, path }: Route, { where, name }: IdPlace): OwnershipRule | undefined {
  return ruleExceptions[`${method} ${path} ${where} ${name}`] ?? ownershipRules[`${where} ${name}`];
}

/** Headers that differ between any two responses. */
const varyingHeaders = ['date', 'x-request-id'];

/** Returns everything in a response that a caller can compare with another response. */
export function comparableBytes({ status, headers, text }: Pick<ApiResponse, 'status' | 'headers' | 'text'>): string {
  const comparable = [...headers].filter(([name]) => !varyingHeaders.includes(name)).sort();
  return JSON.stringify([status, comparable, text]);
}

/**
 * Members of a body that must have equal values in both responses: the problem code, and the counters of an
 * import.
 */
const stableMembers = ['code', 'created', 'changed', 'unchanged', 'deleted'];

/**
 * Returns the structure of a response without new values: status, header names, member names, and the values of
 * `stableMembers`.
 */
function responseOutline({ status, headers, json }: Pick<ApiResponse, 'status' | 'headers' | 'json'>): string {
  return JSON.stringify([status, [...headers.keys()].sort(), outline(json, '')]);
}

function outline(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => outline(item, ''));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, outline(inner, key)]));
  return stableMembers.includes(name) ? value : typeof value;
}

/**
 * Compares the responses for a foreign and for an unknown value. Returns what the first response reveals, or
 * undefined if it reveals nothing.
 */
export type ResponseCheck = (foreign: ApiResponse, unknown: ApiResponse) => string | undefined;

const formatAnswer = ({ status, text }: ApiResponse) => `${status} ${text.slice(0, 200)}`;

/** Checks that the response equals the response for an id that was never issued, byte for byte. */
export const hidden: ResponseCheck = (foreign, unknown) =>
  comparableBytes(foreign) === comparableBytes(unknown)
    ? undefined
    : `got ${formatAnswer(foreign)}, and for an unknown id ${formatAnswer(unknown)}`;

/** Checks that the response has the same structure as for a value that was never used. */
export const looksUnused: ResponseCheck = (foreign, unknown) =>
  responseOutline(foreign) === responseOutline(unknown)
    ? undefined
    : `got ${formatAnswer(foreign)}, and for an unused value ${formatAnswer(unknown)}`;

/**
 * Checks that the response is 401 not_permitted, because the record belongs to another user of the account (C13,
 * C14).
 */
export const notPermitted: ResponseCheck = (foreign) =>
  foreign.status === 401 && (foreign.text === '' || foreign.json.code === 'not_permitted')
    ? undefined
    : `got ${formatAnswer(foreign)}, not 401 not_permitted`;

/** Checks that the response is 200, because every user of the account can read the record (C2). */
export const shared: ResponseCheck = (foreign) =>
  foreign.status === 200 ? undefined : `got ${formatAnswer(foreign)}, not 200`;

/** Whether a response contains the mark of another tenant. */
export function containsMark(mark: string, { headers, text }: Pick<ApiResponse, 'headers' | 'text'>): boolean {
  return text.includes(mark) || [...headers].some(([, value]) => value.includes(mark));
}

/** Value of `expires_at` in sessions that the test lets expire. */
export const EXPIRED_AT = 1;

/** Columns that change on reads or between nodes. */
const varyingColumns = ['last_used', 'lease_owner'];

const everyTable: readonly AccountTable[] = [...exportedTables, ...tablesNotExported];

/**
 * Returns all rows of an account, one line each, without values that change on reads or over time. Tables in
 * `excludedTables` are left out.
 */
export async function readAccountRows(
  { store }: Pick<TestService, 'store'>,
  domain: string,
  excludedTables: readonly string[] = [],
): Promise<Set<string>> {
  const { account_id } = await store.read
    .selectFrom('accounts')
    .select('account_id')
    .where('domain', '=', domain)
    .executeTakeFirstOrThrow();
  const lines = new Set<string>();
  for (const table of everyTable.filter((one) => !excludedTables.includes(one))) {
    const rows: object[] = await store.read
      .selectFrom(table)
      .selectAll()
      .where('account_id', '=', account_id)
      .execute();
    // Expired rows are left out, because retention deletes them.
    for (const row of rows.filter((one) => !('expires_at' in one && one.expires_at === EXPIRED_AT)))
      lines.add(`${table} ${JSON.stringify(row, (name, value) => (varyingColumns.includes(name) ? null : value))}`);
  }
  return lines;
}

/** Returns the lines of `before` that are missing in `after`. */
export function missingLines(before: ReadonlySet<string>, after: ReadonlySet<string>): string[] {
  return [...before].filter((line) => !after.has(line));
}

/** Returns the differences: removed lines with the prefix `- `, and added lines with the prefix `+ `. */
export function diffLines(before: ReadonlySet<string>, after: ReadonlySet<string>): string[] {
  return [
    ...missingLines(before, after).map((line) => `- ${line}`),
    ...missingLines(after, before).map((line) => `+ ${line}`),
  ];
}
