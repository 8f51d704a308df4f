import { auditActions } from '../../src/audit/actions.ts';
import { environmentName, type Option, options } from '../../src/config/options.ts';
import { type Kind, kinds, resourceTypes } from '../../src/delivery/outbox/event-kinds.ts';
import type { Route } from '../../src/http/routes/route.ts';
import { permissions } from '../../src/permissions.ts';
import { problems } from '../../src/problems.ts';
import { code, derivedFrom, document, table } from './markdown.ts';

/** docs/reference/options.md: flags, variables and defaults of `carillon serve`. */
export function optionsDocument(): string {
  const rows = (Object.values(options) as Option<unknown>[]).map((row) => [
    code(`--${row.flag}`),
    code(environmentName(row.flag)),
    row.shape,
    initialOf(row),
    row.says + (row.secret ? ' Never shown in a log.' : ''),
  ]);
  return document(
    derivedFrom('src/config/options.ts'),
    '# Options of `carillon serve`',
    'A flag overrides its variable; a variable overrides the default. An empty variable counts as not set. Durations are a number with `ms`, `s`, `m`, `h` or `d`. With invalid options the service does not start; it prints one line for each.',
    table(['Flag', 'Variable', 'Shape', 'Default', 'Meaning'], rows),
  );
}

function initialOf({ initial }: Option<unknown>): string {
  return initial === undefined || initial === '' ? 'none' : code(initial);
}

/** docs/reference/audit.md: actions of the audit log. */
export function auditDocument(): string {
  const rows = Object.entries(auditActions).map(([action, says]) => [code(action), says]);
  return document(
    derivedFrom('src/audit/actions.ts'),
    '# Actions of the audit log',
    'The actions that `carillon audit` lists and that its `--action` accepts. An entry has time, account, action, subject, actor (user and key; 0 if unknown), source, and a detail in JSON.',
    table(['Action', 'Says'], rows),
  );
}

/** docs/reference/problems.md: error codes of the API. */
export function problemsDocument(): string {
  const rows = Object.entries(problems).map(([name, { status, title, detail }]) => [
    code(name),
    String(status),
    title,
    detail,
  ]);
  return document(
    derivedFrom('src/problems.ts'),
    '# Problems',
    'An error is `application/problem+json` (RFC 9457). Programs should compare `code`, which does not change. `detail` can be more specific than the table; `message` repeats it. `errors` lists every invalid field. `type` is a URL of the service that shows the row below.',
    '```json\n{\n  "type": "{base_url}/problems/invalid_input",\n  "title": "Invalid input",\n  "status": 400,\n  "detail": "due_date: must not be before start_date",\n  "code": "invalid_input",\n  "message": "due_date: must not be before start_date",\n  "errors": [{ "field": "due_date", "message": "must not be before start_date" }]\n}\n```',
    'A 401 carries `WWW-Authenticate`, a 503 `Retry-After`.',
    table(['code', 'Status', 'Title', 'detail, unless more is known'], rows),
  );
}

/** docs/reference/kinds.md: event kinds with record URL, permission and routes. */
export function kindsDocument(routes: readonly Route[]): string {
  const names = Object.keys(kinds) as Kind[];
  const rowsOf = (hooks: boolean) =>
    names
      .filter((kind) => kinds[kind].hooks === hooks)
      .map((kind) => {
        const { collection, permission } = resourceTypes[kinds[kind].resourceType];
        return [code(kind), code(`/v2${collection}/{id}`), code(permission), recordedBy(routes, kind)];
      });
  const head = ['Kind', 'Record', 'Permission to read it', 'Recorded by'];
  return document(
    derivedFrom('src/delivery/outbox/event-kinds.ts', 'the route rows'),
    '# Kinds',
    'A kind is a type of occurrence. The change and its occurrence are written in one transaction.',
    '## Kinds that a hook can name',
    'To subscribe to one, a key needs permission to read the record.',
    table(head, rowsOf(true)),
    '## Kinds in the feed only',
    'They appear only in [the feed](../feed.md), which contains everything that happened in an account. The command `carillon users create` also records `new_user`.',
    table(head, rowsOf(false)),
    '## `test`',
    'A delivery can also have the kind `test`: a notification requested by `POST /v2/hooks/{hook_id}/test`. Its `resource_url` is the URL of the hook.',
    `## Permissions\n\n${permissions.map(code).join(', ')}.`,
  );
}

function recordedBy(routes: readonly Route[], kind: Kind): string {
  return routes
    .filter((row) => row.records.includes(kind))
    .map((row) => code(`${row.method} /v2${row.path}`))
    .join(', ');
}
