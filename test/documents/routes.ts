import {
  describeExpectedForm,
  describeOutputForm,
  groupByResource,
  propertiesOf,
  recordPropertiesOf,
  requiredNamesOf,
  type SchemaProperties,
} from '../../src/api-docs/schema-shape.ts';
import { createSsrfGuard } from '../../src/delivery/transport/ssrf-guard.ts';
import type { JsonSchema } from '../../src/http/fields/field.ts';
import { problemCodesOf, type Route } from '../../src/http/routes/route.ts';
import { createLog } from '../../src/log.ts';
import { type ProblemCode, problems } from '../../src/problems.ts';
import { createApiRoutes } from '../../src/resources/index.ts';
import { systemRandom } from '../../src/secrets.ts';
import { derivedNotice, inlineCode, joinParts, markdownTable } from './markdown.ts';

/** Returns all route definitions. Their dependencies are stubs, so they only serve for documentation. */
export function documentedRoutes(): readonly Route[] {
  const guard = createSsrfGuard({ resolve: async () => ({ addresses: [] }), allowRules: [], isLoopbackAllowed: false });
  return createApiRoutes({ guard, random: systemRandom, log: createLog('silent'), baseUrl: () => '' });
}

export function routesDocument(routes: readonly Route[]): string {
  const common = commonProblems(routes);
  const groups = [...groupByResource(routes)].flatMap(([resourceType, rows]) => [
    `## ${resourceType}`,
    ...rows.map((row) => routePart(row, common)),
  ]);
  return joinParts(
    derivedNotice('the route rows in src/resources'),
    '# Routes',
    'Every call carries the headers `key` and `domain`. A running service has the same routes as OpenAPI at `/openapi.json`; the fields of each record are in [fields.md](fields.md).',
    'Outside `/v2`, without a key: `GET /` (name and version), `GET /docs`, `GET /openapi.json`, `GET /llms.txt`, `GET /healthz`, `GET /readyz`, `GET /problems/{code}`, `GET /calendar/{token}.ics` (the URL is the credential, see [calendars.md](../calendars.md)), and `GET /metrics` (this machine, or a token, see [operating.md](../operating.md#metrics)).',
    'Every POST takes an `Idempotency-Key`; a single record has an `ETag` and takes `If-Match` and `If-None-Match`: see [feed.md](../feed.md#making-a-call-once).',
    markdownTable(
      ['Route', 'What it does', 'Permission', 'Answers'],
      routes.map((row) => [inlineCode(titleOf(row)), row.description, permissionOf(row), String(row.status)]),
    ),
    `Every route can also return ${listCodes(common)}. See [problems](problems.md) for their meaning.`,
    ...groups,
  );
}

function routePart(row: Route, common: readonly ProblemCode[]): string {
  const own = problemCodesOf(row).filter((problem) => !common.includes(problem));
  const facts = [
    row.description,
    `- Permission: ${permissionOf(row)}`,
    `- Answers ${row.status}`,
    row.recordedKinds.length > 0 ? `- May record ${row.recordedKinds.map(inlineCode).join(', ')}` : '',
    own.length > 0 ? `- Also ${listCodes(own)}` : '',
  ].filter((fact) => fact !== '');
  const [says = '', ...items] = facts;
  const parameters = Object.entries(row.parameters).map(([name, parameter]) => [
    inlineCode(name),
    parameter.description,
    describeExpectedForm(parameter.errorMessage),
  ]);
  return [
    `### ${titleOf(row)}`,
    says,
    items.join('\n'),
    ...(parameters.length > 0 ? [markdownTable(['Parameter', 'Meaning', 'Form'], parameters)] : []),
  ].join('\n\n');
}

const titleOf = (row: Route): string => `${row.method} /v2${row.path}`;

const permissionOf = (row: Route): string => (row.permission === undefined ? 'any key' : inlineCode(row.permission));

function commonProblems(routes: readonly Route[]): ProblemCode[] {
  const all = Object.keys(problems) as ProblemCode[];
  return all.filter((problem) => routes.every((row) => problemCodesOf(row).includes(problem)));
}

function listCodes(codes: readonly ProblemCode[]): string {
  return codes.map((one) => `${problems[one].status} ${inlineCode(one)}`).join(', ');
}

/** Derives docs/reference/fields.md: output and input format of every field. */
export function fieldsDocument(routes: readonly Route[]): string {
  // Resources with the same record share a table, such as `user` and `users`.
  const groups = Map.groupBy(groupByResource(routes), ([, rows]) => JSON.stringify(outputFieldsOf(rows)));
  const parts = [...groups.values()].map((group) => {
    const resourceTypes = group.map(([resourceType]) => resourceType).join(', ');
    return `## ${resourceTypes}\n\n${fieldTable(group.flatMap(([, rows]) => rows))}`;
  });
  return joinParts(
    derivedNotice('the route rows in src/resources'),
    '# Fields',
    'Every value is a string unless the table says otherwise. Read-only fields (–) are ignored in requests, so a record that was read can be sent back unchanged.',
    ...parts,
  );
}

function fieldTable(rows: readonly Route[]): string {
  const created = rows.find((row) => row.method === 'POST' && row.status === 201);
  const changed = rows.find((row) => row.method === 'PUT');
  const output = { ...recordPropertiesOf(created?.responseSchema ?? {}), ...outputFieldsOf(rows) };
  const input = { ...propertiesOf(created?.bodySchema), ...propertiesOf(changed?.bodySchema) };
  const lines = [...new Set([...Object.keys(output), ...Object.keys(input)])].map((name) => [
    inlineCode(name),
    String((input[name] ?? output[name])?.description ?? ''),
    output[name] === undefined ? '–' : outputFormat(output[name]),
    inputFormat(name, created?.bodySchema, changed?.bodySchema),
  ]);
  return markdownTable(['Field', 'Meaning', 'Answered as', 'Written as'], lines);
}

/** Returns the fields in the GET responses of a resource. */
function outputFieldsOf(rows: readonly Route[]): SchemaProperties {
  const reads = rows.filter((row) => row.method === 'GET');
  return Object.assign({}, ...reads.map((row) => recordPropertiesOf(row.responseSchema)));
}

function inputFormat(name: string, creates: JsonSchema | undefined, changes: JsonSchema | undefined): string {
  const [first, second] = [propertiesOf(creates)[name], propertiesOf(changes)[name]];
  const schema = first ?? second;
  if (schema === undefined) return '–';
  const required = requiredNamesOf(creates).includes(name);
  const notes = [
    required ? 'required to create' : '',
    first === undefined ? 'in a change only' : '',
    second === undefined && changes !== undefined ? 'when created only' : '',
  ];
  return [describeExpectedForm(schema['x-must']), ...notes.filter((note) => note !== '')].join('; ');
}

/** Describes the output format of a field. */
function outputFormat(schema: JsonSchema): string {
  const form = describeOutputForm(schema);
  if ('words' in form)
    return `${'const' in schema ? 'always ' : ''}${form.words.map((word) => inlineCode(word === '' ? '""' : word)).join(', ')}`;
  return form.format.startsWith('YYYY')
    ? inlineCode(form.format)
    : form.format.replace(/\{ (.+) \}/, (_, names) => `objects with ${names.split(', ').map(inlineCode).join(', ')}`);
}
