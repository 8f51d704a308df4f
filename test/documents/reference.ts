import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Behaviour, outcomeOf } from '../../packages/chaos-receiver/src/behaviour.ts';
import { behaviourGroups, behaviours } from '../../packages/chaos-receiver/src/behaviours.ts';
import { schemeOf } from '../../packages/chaos-receiver/src/output.ts';
import {
  acceptsBooleans,
  propertiesOf,
  recordPropertiesOf,
  requiredNamesOf,
  type SchemaProperties,
} from '../../src/api-docs/schema-shape.ts';
import { auditActions } from '../../src/audit/actions.ts';
import { environmentVariableOf, type Option, options } from '../../src/config/options.ts';
import {
  isHookKind,
  type OccurrenceKind,
  occurrenceKinds,
  resourceTypeOf,
  resourceTypes,
} from '../../src/delivery/outbox/event-kinds.ts';
import type { JsonSchema } from '../../src/http/fields/field.ts';
import { pagingParameters } from '../../src/http/routes/pagination.ts';
import type { Route } from '../../src/http/routes/route.ts';
import { permissions } from '../../src/permissions.ts';
import { problems } from '../../src/problems.ts';
import { derivedNotice, inlineCode, joinParts, markdownTable } from './markdown.ts';

/** Derives docs/reference/options.md: flags, variables and defaults of `carillon serve`. */
export function optionsDocument(): string {
  const rows = (Object.values(options) as Option<unknown>[]).map((row) => [
    inlineCode(`--${row.flag}`),
    inlineCode(environmentVariableOf(row.flag)),
    row.placeholder,
    defaultOf(row),
    row.description + (row.isSecret ? ' Never shown in a log.' : ''),
  ]);
  return joinParts(
    derivedNotice('src/config/options.ts'),
    '# Options of `carillon serve`',
    'A flag overrides its variable; a variable overrides the default. An empty variable counts as not set. Durations are a number with `ms`, `s`, `m`, `h` or `d`. With invalid options the service does not start; it prints one line for each.',
    markdownTable(['Flag', 'Variable', 'Shape', 'Default', 'Meaning'], rows),
  );
}

function defaultOf({ defaultText }: Option<unknown>): string {
  return defaultText === undefined || defaultText === '' ? 'none' : inlineCode(defaultText);
}

/** Derives docs/reference/audit.md: actions of the audit log. */
export function auditDocument(): string {
  const rows = Object.entries(auditActions).map(([action, says]) => [inlineCode(action), says]);
  return joinParts(
    derivedNotice('src/audit/actions.ts'),
    '# Actions of the audit log',
    'The actions that `carillon audit` lists and that its `--action` accepts. An entry has time, account, action, subject, actor (user and key; 0 if unknown), source, and a detail in JSON.',
    markdownTable(['Action', 'Says'], rows),
  );
}

/** Derives docs/reference/problems.md: error codes of the API. */
export function problemsDocument(): string {
  const rows = Object.entries(problems).map(([name, { status, title, detail }]) => [
    inlineCode(name),
    String(status),
    title,
    detail,
  ]);
  return joinParts(
    derivedNotice('src/problems.ts'),
    '# Problems',
    'An error is `application/problem+json` (RFC 9457). Programs should compare `code`, which does not change. `detail` can be more specific than the table; `message` repeats it. `errors` lists every invalid field. `type` is a URL of the service that shows the row below.',
    '```json\n{\n  "type": "{base_url}/problems/invalid_input",\n  "title": "Invalid input",\n  "status": 400,\n  "detail": "due_date: must not be before start_date",\n  "code": "invalid_input",\n  "message": "due_date: must not be before start_date",\n  "errors": [{ "field": "due_date", "message": "must not be before start_date" }]\n}\n```',
    'A 401 carries `WWW-Authenticate`, a 503 `Retry-After`.',
    markdownTable(['code', 'Status', 'Title', 'detail, unless more is known'], rows),
  );
}

/** Derives docs/reference/kinds.md: event kinds with record URL, permission and routes. */
export function kindsDocument(routes: readonly Route[]): string {
  const rowsOf = (isInEvent: boolean) =>
    occurrenceKinds
      .filter((kind) => isHookKind(kind) === isInEvent)
      .map((kind) => {
        const { collection, permission } = resourceTypes[resourceTypeOf(kind)];
        return [
          inlineCode(kind),
          inlineCode(`/v2${collection}/{id}`),
          inlineCode(permission),
          recordedBy(routes, kind),
        ];
      });
  const head = ['Kind', 'Record', 'Permission to read it', 'Recorded by'];
  return joinParts(
    derivedNotice('src/delivery/outbox/event-kinds.ts', 'the route rows'),
    '# Kinds',
    'A kind is a type of occurrence. The change and its occurrence are written in one transaction.',
    'All kinds appear in [the feed](../feed.md), and the `events` of a hook can name them. To subscribe to one, a key needs permission to read the record.',
    '## Kinds that `event` can name, too',
    markdownTable(head, rowsOf(true)),
    '## Further kinds',
    'The command `carillon users create` also records `new_user`. Each change records its `changed_…`, also if it records `reopened_…` or `assigned_…` as well; only a completion records `completed_…` instead.',
    markdownTable(head, rowsOf(false)),
    '## `test`',
    'A delivery can also have the kind `test`: a notification requested by `POST /v2/hooks/{hook_id}/test`. Its `resource_url` is the URL of the hook.',
    `## Permissions\n\n${permissions.map(inlineCode).join(', ')}.`,
  );
}

function recordedBy(routes: readonly Route[], kind: OccurrenceKind): string {
  return routes
    .filter((row) => row.recordedKinds.includes(kind))
    .map((row) => inlineCode(`${row.method} /v2${row.path}`))
    .join(', ');
}

/** Derives BEHAVIOURS.md of the chaos receiver. */
export function behavioursDocument(): string {
  const rowOf = (one: Behaviour) => [inlineCode(one.slug), one.description, String(one.senderSees), outcomeOf(one)];
  return joinParts(
    derivedNotice('packages/chaos-receiver/src/behaviours/'),
    '# Behaviours of the chaos receiver',
    `The [chaos receiver](README.md) has ${behaviours.length} behaviours. In addition, every other status from 200 to 599 is a behaviour.`,
    '"Seen as" is the status that the sender reads, or the reason why it reads none. Where the standards leave a choice, it is the choice of Carillon. "Outcome" is the result for a sender that treats 200 as success, 401 as "unsubscribe" and everything else as a failure.',
    ...Object.entries(behaviourGroups).map(
      ([title, all]) =>
        `## ${title}${schemeOf(all) === 'https' ? ' (https only)' : ''}\n\n${markdownTable(['Behaviour', 'Description', 'Seen as', 'Outcome'], all.map(rowOf))}`,
    ),
  );
}

/**
 * How a code block of commands is tested, by the word after `sh`:
 *
 * - none: run as is, next to a running service
 * - `stopped`: run while the service is stopped
 * - `stays`: a long-running command, run until its first output
 * - `story`: run by a dedicated test that reads the block
 * - `ci`: run by continuous integration
 * - `machine`: needs systemd, containers, a domain or another service; only its shell syntax is checked
 */
export const commandModes = ['', 'stopped', 'stays', 'story', 'ci', 'machine'] as const;

export type CommandMode = (typeof commandModes)[number];

/** A code block of commands in a document. */
export type CommandBlock = {
  readonly path: string;
  readonly line: number;
  readonly way: string;
  readonly script: string;
};

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Reads all pages that contain commands. */
function readPages(): readonly { readonly path: string; readonly text: string }[] {
  const docs = readdirSync(`${root}/docs`).filter((name) => name.endsWith('.md'));
  const paths = ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => `docs/${name}`)];
  return paths.map((path) => ({ path, text: readFileSync(`${root}/${path}`, 'utf8') }));
}

/** Returns the arguments of all `carillon` commands in inline code. */
export function inlineCommands(): readonly { readonly path: string; readonly line: string }[] {
  return readPages().flatMap(({ path, text }) =>
    [...text.matchAll(/`(?:npm run -s carillon --|npx carillon|carillon) ([^`]+)`/g)].map((match) => ({
      path,
      line: match[1] ?? '',
    })),
  );
}

/** Returns all code blocks of commands, in the order of their pages. */
export function documentedCommands(): readonly CommandBlock[] {
  return readPages().flatMap(({ path, text }) => {
    return [...text.matchAll(/^```(?:sh|bash|shell|console)\b *(.*)\n([\s\S]*?)^```$/gm)].map((match) => ({
      path,
      line: text.slice(0, match.index).split('\n').length,
      way: match[1] ?? '',
      script: match[2] ?? '',
    }));
  });
}

/** Resources that the integrations can create and change, in display order. */
const integrationResources = ['event', 'client', 'project', 'task', 'subtask'] as const;

type IntegrationResource = (typeof integrationResources)[number];

/** Parent resource of nested resources. */
const parentResources: Partial<Record<IntegrationResource, IntegrationResource>> = { task: 'project', subtask: 'task' };

/**
 * Derives service.json of the integrations from the route definitions, so that new fields appear in the integrations:
 * event kinds, and fields, filters and a sample record of each resource.
 */
export function serviceTableDocument(routes: readonly Route[]): string {
  const table = {
    kinds: occurrenceKinds.map((name) => {
      const resourceType = resourceTypeOf(name);
      return { name, resourceType, plural: resourceTypes[resourceType].collection.slice(1), hooks: isHookKind(name) };
    }),
    resourceTypes: integrationResources.map((resourceType) => resourceDefinition(routes, resourceType)),
  };
  return `${JSON.stringify(table, undefined, 2)}\n`;
}

function resourceDefinition(routes: readonly Route[], resourceType: IntegrationResource) {
  const path = resourceTypes[resourceType].collection;
  const requireRoute = (method: Route['method'], at: string) => {
    const found = routes.find((one) => one.method === method && one.path === at);
    if (found === undefined) throw new Error(`no route ${method} ${at}`);
    return found;
  };
  const parent = parentResources[resourceType];
  const [key, list] = [`${resourceType}_id`, requireRoute('GET', path)];
  const creation = requireRoute('POST', parent === undefined ? path : `${path}/{${parent}_id}`).bodySchema;
  const change = requireRoute('PUT', `${path}/{${key}}`).bodySchema;
  return {
    name: resourceType,
    plural: path.slice(1),
    key,
    label: `${resourceType}_name`,
    ...(parent === undefined ? {} : { parent: `${parent}_id` }),
    creation: fieldsOf(propertiesOf(creation), requiredNamesOf(creation)),
    change: fieldsOf(propertiesOf(change), []),
    filters: Object.entries(list.parameters)
      .filter(([name]) => !(name in pagingParameters))
      .map(([name, { description, schema }]) => fieldOf(name, { ...schema, description }, false)),
    sample: sampleRecordOf(recordPropertiesOf(list.responseSchema)),
  };
}

function fieldsOf(properties: SchemaProperties, required: readonly string[]) {
  return Object.entries(properties).map(([name, schema]) => fieldOf(name, schema, required.includes(name)));
}

function fieldOf(name: string, schema: JsonSchema, required: boolean) {
  return { name, says: schema.description, ...inputFormOf(schema), ...(required ? { required } : {}) };
}

/** Returns the input type of a field; `words` are the options of a select. */
function inputFormOf(schema: JsonSchema): { readonly form: string; readonly words?: readonly string[] } {
  const { type, format = '', enum: words, pattern } = schema;
  if (Array.isArray(words)) {
    // Every option of a select needs a text, so the empty value is left out. Users choose "0" for none.
    const texts = words.filter((word) => typeof word === 'string' && word !== '');
    return texts.join() === '0,1' ? { form: 'flag' } : { form: 'word', words: texts };
  }
  if (acceptsBooleans(schema)) return { form: 'flag' };
  if (type === 'array') return { form: 'ids' };
  if (pattern === '^\\d{8}$') return { form: 'day' };
  if (String(format).startsWith('calendar-time')) return { form: 'date' };
  if (Array.isArray(type) && /^$|decimal/.test(String(format))) return { form: 'number' };
  return { form: 'text' };
}

/** Returns a sample record for the platform's editor. */
function sampleRecordOf(properties: SchemaProperties): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, exampleOf(name, schema)]));
}

function exampleOf(name: string, { type, enum: words, pattern = '' }: JsonSchema): unknown {
  if (type === 'number') return 0;
  if (Array.isArray(words)) return words[0];
  if (type === 'array') return [{ user_id: '1', user_name: 'Release Team' }];
  if (String(pattern).includes(':')) return '2027-01-01 00:00:00';
  if (name.endsWith('_id')) return '1';
  return name.endsWith('_name') ? 'Release' : '';
}
