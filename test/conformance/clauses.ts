import { packageSources, type SourceFile, sourcesBelow } from '../laws/source.ts';

/**
 * The clauses: the promises of Carillon. Code, tests and documents refer to them by number. C clauses interpret the
 * specification, decide points that it leaves open, and define the resources of its event kinds. X clauses are
 * extensions.
 */
export const clauses: Readonly<Record<string, string>> = {
  C1: 'Every call under `/v2` sends the headers `key` and `domain`, each exactly once. Any mistake in them gives the same 401 with `WWW-Authenticate`, also for unknown paths. `domain` is case-insensitive.',
  C2: 'A key without the permission for a resource gets 401 with its own code. Each area has a read and a write permission. A key never has more permissions than the role of its user.',
  C3: 'A record of another account is 404, with the same bytes as for an id that was never issued.',
  C4: 'Requests and responses are JSON in UTF-8. Unreadable input is 400, another media type 415, an unknown method or path 404. Unknown fields and parameters are ignored. A repeated parameter, NUL and lone surrogates are 400.',
  C5: 'Ids are strings of digits below 2^53, unique within a resource and never reused. Bodies and queries may give them as strings or numbers.',
  C6: 'Errors are `application/problem+json` (RFC 9457) with a stable `code`, a `message` that repeats the detail, and the name of every bad field. They reveal nothing internal.',
  C7: 'Lists return `paging` and `data`. `limit` defaults to 1000, which is the maximum. The order is total and stable. `Link` leads to the next page while there is one.',
  C8: 'A single record is in `data`. Create returns 201 with `Location`, update 200 with the record, delete 200 with `[]`.',
  C9: 'Dates are accepted as `yyyymmdd` or in the format of responses, `YYYY-MM-DD HH:MM:SS`, and must exist. Start and due dates have no zone and are never converted. Timestamps are UTC.',
  C10: 'The base URL is configured and never taken from a request. Every URL in a response begins with it. Without a base URL, the service does not start on a wildcard address.',
  C11: 'Creating a hook returns 201 with `id` at the top level. A missing or invalid field, a target that is not an absolute http or https URL or is not allowed, and an unknown kind are 400. A key that may not read the kind gets 401.',
  C12: 'Two live hooks of the service never share a target: the second subscription gets 409. Of two concurrent subscriptions exactly one succeeds. A target is free again when its hook has ended.',
  C13: "Deleting a hook returns 200 with `[]`. An unknown or ended hook, or one of another account, is 404. Another user's hook is 401, except for admins. After the 200 no new attempt begins.",
  C14: 'An occurrence notifies the live hooks of the user who caused it: the recorded creator of a new record, or the user whose key completed one. Only admins may name another creator. Hooks created later are not notified.',
  C15: 'A notification is a POST of `{"resource_url": …}` as JSON and nothing else, without authentication. Every attempt of a delivery has the same `Webhook-Id`. Redirects are not followed.',
  C16: 'When a notification arrives, its record can be fetched with a key of its owner. A change that was rolled back is never notified.',
  C17: 'The response status decides: 200 is a success and resets the failure count, 401 ends the hook, any other status is a failure, and so is no response.',
  C18: 'After the first and second failure in a row the hook waits, and then the same delivery is tried again. The third failure ends the hook. Attempts in flight when a failure is counted belong to that failure. `Retry-After` can lengthen a wait.',
  C19: 'Local errors never count as failures of a hook: a stop or crash of the service, no file handle, no local port, no route, no resolver, a paused process.',
  C20: 'Every acknowledged change is delivered at least once to every live hook that subscribes to it, through crashes and restarts.',
  C21: 'One timeout covers name resolution, connection, TLS and response. At most 16 KiB of a response body are read, and none is kept.',
  C22: 'Targets do not slow each other down. A new hook has one attempt in flight, and more after each 200. A failing hook has one.',
  C23: 'An ended hook can be read for 30 days, with reason and time. Deleting a user revokes the keys, ends the hooks and keeps the records. Revoking a key ends no hook.',
  C24: 'A calendar event has the eight fields of the specification. Every value is a string.',
  C25: 'Events are filtered by project, start date and due date. Days are whole and inclusive, and filters are combined with AND. Both spellings of the date filters work and must agree.',
  C26: 'An event needs a name, a start date and a due date that is not earlier. An unknown project or user is 404. An empty project, `0` and null mean no project.',
  C27: 'Updating an event changes the given fields and validates the result as a whole. Project `"0"` clears the project. An unknown event is 404.',
  C28: 'Deleting an event returns 200 with `[]`, and 404 the second time.',
  C29: 'Clients have the documented fields, paths and filter by part of the name.',
  C30: 'Projects have the documented fields, paths, filters, orders and assignees.',
  C31: 'Tasks have the documented fields, paths, filters and assignees.',
  C32: 'Subtasks have the documented fields, paths, filters and assignees.',
  C33: 'An update completes or reopens tasks and subtasks. Completing a task completes its open subtasks, each with its own occurrence. Completing a completed record causes no occurrence.',
  C34: 'An unknown parent is 404. Deleting a project deletes its tasks and subtasks and keeps its events. Deleting a task deletes its subtasks. Deleting a client keeps its projects and contacts.',
  C35: 'Users, the caller and the account can be read. Admins create, update and delete users.',
  C36: 'Contacts have the documented fields, paths and filter by client.',
  C37: 'Teams have the documented fields and paths. Only admins change them. Projects, tasks and subtasks can have teams assigned.',
  C38: 'Time entries have the documented fields, paths and filters. They are created under a task and updated at two paths. The hours of tasks and subtasks are the sum of their time entries.',
  C39: 'Comments have the documented fields, paths and filters. They are created under a project, can be deleted, and cannot be changed. Lists include replies.',
  C41: 'Projects, tasks and subtasks recur daily, weekly, monthly, quarterly, every six months or yearly. Completing a recurring task or subtask creates the next one in the same transaction, with dates moved by the period. The completed record no longer recurs.',
  C42: 'Values that existing clients send are accepted: fractional seconds, timestamps as orders, an amount as fixed_price, `notifications`. A time entry without a subtask has `"0"`.',
  X1: 'Hooks can be listed and read, restored after their end, and tested with a notification of the hook itself.',
  X2: 'The feed has every occurrence of an account, notified or not, in commit order and without gaps. It is read by cursor as a page, with a wait, or as a stream. An expired cursor is 410.',
  X3: 'Deliveries can be listed, read with their attempts, and sent again with the same id.',
  X4: 'A POST with an `Idempotency-Key` runs once, and its response is repeated for 24 hours. Another request with the same key is 422, a concurrent one 409. The key is stored in the transaction of the record.',
  X5: 'Single records have an `ETag`. `If-None-Match` gives 304. `If-Match` on a changed record gives 412 and changes nothing.',
  X6: '`/openapi.json`, `/healthz` and `/readyz` need no key. `/metrics` is open to the same machine, or needs a token. CORS is configurable.',
  X7: 'API keys are listed, issued, narrowed and revoked over the API. A key never has more permissions than the key that issued it, and never gets more. The last owner cannot be removed.',
  X8: 'A hook can sign its attempts with Standard Webhooks. The secret is shown once and is rotated with an overlap. The body does not change.',
  X9: 'Calendar programs read `GET /calendar/{token}.ics` for a user, a project or the account until it is revoked. `.ics` files can be imported, and importing a file again creates no duplicates.',
  X11: 'A hook reports several event kinds or all, of its user, of a project or of the account, and only what its user may read when it happens. Headers name the kind, the position in the feed and the changed fields. Values of its own headers are never shown.',
  X13: 'A hook can be changed: after the response no attempt uses the old settings. A disabled hook loses nothing. A replay sends deliveries of an interval again under their ids, and its failures do not count.',
  X14: 'The feed has the changed fields and the project of each entry, and filters by several kinds and by project.',
  X10: 'With a mail server, the owner of a hook gets mail before the last failure and after the end of a hook, with the reason and how to restore it. The mail is stored in the transaction of the result.',
};

export const isClause = (id: string): boolean => Object.hasOwn(clauses, id);

/** A test whose name begins with the numbers of the clauses that it proves. */
export type ClauseTest = { readonly file: string; readonly name: string; readonly clauses: readonly string[] };

const TEST_CALL = /\b(?:test|it|describe|suite)\s*\(\s*(?=['"`])/g;

/** Returns all tests whose names begin with a clause number, in the order of their files. */
export function findClauseTests(): readonly ClauseTest[] {
  const files = ['src', ...packageSources, 'test']
    .flatMap(sourcesBelow)
    .filter(({ path }) => path.endsWith('.test.ts'));
  return files.flatMap(clauseTestsIn);
}

function clauseTestsIn(source: SourceFile): ClauseTest[] {
  return [...source.code.matchAll(TEST_CALL)]
    .map((match) => testNameAt(source, match.index + match[0].length))
    .map((name) => ({ file: source.path, name: displayName(name), clauses: clausesOf(name) }))
    .filter(({ clauses }) => clauses.length > 0);
}

function testNameAt({ text, code }: SourceFile, begin: number): string {
  return text.slice(begin + 1, code.indexOf(text[begin] ?? '', begin + 1));
}

/** Returns the clause numbers at the beginning of a test name: C17 and C18 for `C17 C18 a target …`. */
function clausesOf(name: string): string[] {
  const [beginning = ''] = /^(?:[CX]\d+\s+)*/.exec(name) ?? [];
  return beginning.split(/\s+/).filter((clause) => clause !== '');
}

/** Formats a test name for documents: template expressions become `…`. */
function displayName(name: string): string {
  return name
    .replace(/\$\{[^}]*\}/g, '…')
    .replace(/\\(['"`])/g, '$1')
    .replace(/\s+/g, ' ');
}
