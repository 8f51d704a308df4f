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
    'A flag goes before its variable, a variable before the default. An empty variable counts as not set. Durations are a number with `ms`, `s`, `m`, `h` or `d`. Everything that is wrong is said at once, a line each, and the service does not start.',
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
    'What `carillon audit` lists, and what its `--action` takes. An entry has the moment, the account, the action, its subject, who did it (user and key, 0 where nobody is known), from where, and a detail in JSON.',
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
    'An error is `application/problem+json` (RFC 9457). `code` is what a program should look at: it does not change. `detail` says more than the table where more is known, and `message` repeats it. `errors` names every bad field of the input at once. `type` is an address on the service that shows the row below.',
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
    'A kind is something that can happen. Each time it does, the change and its occurrence are written in one transaction.',
    '## Kinds that a hook can name',
    'Subscribing to one needs the permission to read its record.',
    table(head, rowsOf(true)),
    '## Kinds that are recorded and told to no hook',
    'They are kept as occurrences and stand in [the feed](../feed.md), which so holds everything that happened in an account. The command `carillon users create` records `new_user`, too.',
    table(head, rowsOf(false)),
    '## `test`',
    'A delivery can also be of kind `test`: one notification of a hook itself, asked for by `POST /v2/hooks/{hook_id}/test`. Its `resource_url` is the address of the hook.',
    `## Permissions\n\n${permissions.map(code).join(', ')}.`,
  );
}

function recordedBy(routes: readonly Route[], kind: Kind): string {
  return routes
    .filter((row) => row.records.includes(kind))
    .map((row) => code(`${row.method} /v2${row.path}`))
    .join(', ');
}
