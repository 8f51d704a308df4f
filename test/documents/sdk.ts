import { spawnSync } from 'node:child_process';
import {
  acceptsBooleans,
  propertiesOf,
  recordPropertiesOf,
  requiredNamesOf,
  type SchemaProperties,
} from '../../src/api-docs/schema-shape.ts';
import { type ResourceType, resourceTypes } from '../../src/delivery/outbox/event-kinds.ts';
import type { JsonSchema } from '../../src/http/fields/field.ts';
import { pagingParameters } from '../../src/http/routes/pagination.ts';
import type { QueryParameter } from '../../src/http/routes/query-parameters.ts';
import { type HttpMethod, idNamesOf, type Route } from '../../src/http/routes/route.ts';
import { biomePath } from '../install.ts';

import { type DerivedDocument, derivedNotice } from './markdown.ts';

/** A resource of the SDK; its types and methods are derived from the route definitions. */
type SdkResourceType = {
  readonly resourceType: ResourceType;
  /** Name of the TypeScript type of a record. */
  readonly type: string;
  /** Prefix of related types such as `EventInput`, if it is not `type`. */
  readonly stem?: string;
  readonly clauses: string;
  /** Name of the type with additional, handwritten methods of the resource, from another file. */
  readonly extension?: string;
};

const sdkResourceTypes: readonly SdkResourceType[] = [
  { resourceType: 'event', type: 'CalendarEvent', stem: 'Event', clauses: 'C24–C28', extension: 'importMethod' },
  { resourceType: 'client', type: 'Client', clauses: 'C29, C34' },
  { resourceType: 'contact', type: 'Contact', clauses: 'C36' },
  { resourceType: 'project', type: 'Project', clauses: 'C30, C34' },
  { resourceType: 'task', type: 'Task', clauses: 'C31, C33, C34' },
  { resourceType: 'subtask', type: 'Subtask', clauses: 'C32, C33, C34' },
  { resourceType: 'team', type: 'Team', clauses: 'C37' },
  { resourceType: 'time_entry', type: 'TimeEntry', clauses: 'C38' },
  { resourceType: 'comment', type: 'Comment', clauses: 'C39' },
];

const FILE = 'packages/sdk/src/resources.ts';

/** Derives the SDK file with the types and methods of all resources. */
export function sdkFile(routes: readonly Route[]): DerivedDocument {
  const code = sdkResourceTypes.map((one) => resourceCode(one, routes)).join('\n\n');
  const imports = Object.entries(importsByFile).map(([file, names]) => {
    const used = names.filter((name) => new RegExp(`\\b${name}\\b`).test(withoutComments(code)));
    return `import { ${used.map((name) => (/^[a-z]/.test(name) ? name : `type ${name}`)).join()} } from './${file}.ts';`;
  });
  const from = derivedNotice('the route rows').replace(/^<!-- | -->$/g, '');
  return { path: FILE, text: formatCode(FILE, [`// ${from}`, imports.join('\n'), code].join('\n\n')) };
}

function resourceCode(
  { resourceType, type, stem = type, clauses, extension }: SdkResourceType,
  routes: readonly Route[],
): string {
  const { collection, key } = resourceTypes[resourceType];
  const findRoute = (method: HttpMethod, path: RegExp) =>
    routes.find((one) => one.method === method && path.test(one.path));
  const single = new RegExp(`^${collection}/\\{${key}\\}$`);
  const [list, one, change] = [
    findRoute('GET', new RegExp(`^${collection}$`)),
    findRoute('GET', single),
    findRoute('PUT', single),
  ];
  const creation = findRoute('POST', new RegExp(`^${collection}(/\\{\\w+\\})?$`));
  if (list === undefined || one === undefined || creation === undefined)
    throw new Error(`${resourceType} has no routes`);

  const plural = collection.slice(1);
  const [word, wordsOfAll] = [resourceType.replace('_', ' '), plural.replace('_', ' ')];
  const [methodsType, factoryName] = [toPascalCase(plural), `create${toPascalCase(resourceType)}Methods`];
  const [input, changes, filters] = [`${stem}Input`, `${stem}Changes`, `${stem}Filters`];
  const [outputFields, inputFields, changeFields] = [
    recordPropertiesOf(one.responseSchema),
    propertiesOf(creation.bodySchema),
    propertiesOf(change?.bodySchema),
  ];
  const listFields = omitProperties(recordPropertiesOf(list.responseSchema), outputFields);
  const item = isEmpty(listFields) ? type : `Listed${type}`;
  const changeOnlyFields = omitProperties(changeFields, inputFields);
  const [parent] = idNamesOf(creation.path);
  const filterFields = omitProperties(
    Object.fromEntries(Object.entries(list.parameters).map(parameterField)),
    pagingParameters,
  );

  const methodGroups = [
    ...(change === undefined
      ? [
          ['listMethods', `<${item}, ${filters}>`, `'${key}'`],
          ['getMethod', `<${type}>`],
          ['deleteMethod', ''],
        ]
      : [['editableMethods', `<${type}, ${changes}, ${filters}>`, `'${key}'`]]),
    [parent === undefined ? 'createMethod' : 'createChildMethod', `<${type}, ${input}>`],
    ...('resume' in changeOnlyFields ? [['completeMethods', `<${type}>`]] : []),
    ...(extension === undefined ? [] : [[extension, '']]),
  ].map(([does = '', of = '', id]) => ({
    type: toPascalCase(does) + of,
    made: `...build${toPascalCase(does)}${does === 'deleteMethod' ? '' : of}(${['send', `'${plural}'`, ...(id === undefined ? [] : [id])].join()}),`,
  }));

  const withArticle = (article: string) => `${article}${/^[aeiou]/.test(word) ? 'n' : ''} ${word}`;
  return [
    `/** ${withArticle('A')} as returned by the API (${clauses}). */
    export type ${type} = {${fieldDeclarations(outputFields, outputType)}};`,
    isEmpty(listFields)
      ? ''
      : `/** ${withArticle('A')} as returned in lists. */
    export type ${item} = ${type} & {${fieldDeclarations(listFields, (schema) => (key in itemsOf(schema) ? `readonly ${type}[]` : outputType(schema)))}};`,
    `/** Input to create ${withArticle('a')} (${clauses}). */
    export type ${input} = ${inputTypeOf(inputFields, requiredNamesOf(creation.bodySchema))};`,
    change === undefined
      ? ''
      : `/** Fields of ${withArticle('a')} that can be changed (${clauses}). */
    export type ${changes} = Optional<${input}${isEmpty(changeOnlyFields) ? '' : ` & {${fieldDeclarations(changeOnlyFields, inputType)}}`}>;`,
    `/** Filters of the list of ${wordsOfAll}, combined with AND (${clauses}). */
    export type ${filters} = PageWindow${isEmpty(filterFields) ? '' : ` & Optional<{${fieldDeclarations(filterFields, filterType)}}>`};`,
    `/** Methods for ${wordsOfAll}${parent === undefined ? '' : '; the first argument of `create` is the id of the parent'} (${clauses}). */
    export type ${methodsType} = ${methodGroups.map((one) => one.type).join(' & ')};`,
    `/** Creates the methods for ${wordsOfAll} at \`${collection}\`. */
    export function ${factoryName}(send: Send): ${methodsType} { return {${methodGroups.map((one) => one.made).join('')}}; }`,
  ].join('\n\n');
}

const withoutComments = (code: string) => code.replace(/\/\*\*.*?\*\//gs, '');

/** Field types from `api-types.ts`. */
const WIRE_TYPES = [
  'ActiveStatus',
  'ActiveStatusInput',
  'AssignedTeam',
  'AssignedTeamInput',
  'AssignedUser',
  'AssignedUserInput',
  'CalendarDay',
  'DateInput',
  'DateInputOrNone',
  'DateText',
  'Flag',
  'FlagInput',
  'Id',
  'IdOrNone',
  'NumberInput',
  'RecurrencePeriod',
  'RecurrencePeriodInput',
] as const;

/** Names that the file may import, by file. */
const importsByFile: Readonly<Record<string, readonly string[]>> = {
  calendars: ['ImportMethod', 'buildImportMethod'],
  'resource-methods': [
    'CompleteMethods',
    'CreateMethod',
    'CreateChildMethod',
    'DeleteMethod',
    'EditableMethods',
    'GetMethod',
    'ListMethods',
  ].flatMap((name) => [name, `build${name}`]),
  transport: ['Send'],
  'api-types': [...WIRE_TYPES, 'Optional', 'PageWindow'],
};

function inputTypeOf(inputFields: SchemaProperties, required: readonly string[]): string {
  const entries = Object.entries(inputFields);
  const needed = entries.filter(([name]) => required.includes(name));
  const others = entries.filter(([name]) => !required.includes(name));
  return `{${fieldDeclarations(Object.fromEntries(needed), inputType)}} & Optional<{${fieldDeclarations(Object.fromEntries(others), inputType)}}>`;
}

function fieldDeclarations(properties: SchemaProperties, typeOf: (schema: JsonSchema) => string): string {
  const lines = Object.entries(properties).map(
    ([name, schema]) => `/** ${schema.description} */\nreadonly ${name}: ${typeOf(schema)};`,
  );
  return `\n${lines.join('\n')}\n`;
}

const TYPES_BY_FORMAT: Readonly<Record<string, string>> = {
  'calendar-time': 'DateInput',
  'calendar-time-or-none': 'DateInputOrNone',
  id: 'Id',
  'calendar-day-or-none': 'string | null',
  'id-or-none': 'IdOrNone',
};

/** Returns the TypeScript type of a field in a request body. */
function inputType(schema: JsonSchema): string {
  const { enum: words, format = '', type } = schema;
  if (Array.isArray(words)) {
    if (!acceptsBooleans(schema)) return words.includes(null) ? 'RecurrencePeriodInput' : unionType(words);
    return words.includes(2) ? 'ActiveStatusInput' : 'FlagInput';
  }
  if (acceptsBooleans(schema)) return 'FlagInput | NumberInput';
  if (type === 'array') return isOfTeams(schema) ? 'readonly AssignedTeamInput[]' : 'readonly AssignedUserInput[]';
  return TYPES_BY_FORMAT[String(format)] ?? (Array.isArray(type) ? 'NumberInput' : 'string');
}

/** Returns the TypeScript type of a field in a response. */
function outputType(schema: JsonSchema): string {
  const { enum: words, pattern = '', type } = schema;
  if (type === 'integer') return Array.isArray(words) ? words.join(' | ') : 'number';
  if (type === 'number') return 'number';
  if (schema.const === null) return 'null';
  if (Array.isArray(words))
    return (
      { '0,1': 'Flag', '0,1,2': 'ActiveStatus', ',D,W,M,Q,S,Y': 'RecurrencePeriod' }[words.join()] ?? unionType(words)
    );
  if (type === 'array') return isOfTeams(schema) ? 'readonly AssignedTeam[]' : 'readonly AssignedUser[]';
  if (String(pattern).includes(':')) return 'DateText';
  return 'string';
}

/** Returns the TypeScript type of a list filter. */
function filterType({ enum: words, pattern }: JsonSchema): string {
  if (Array.isArray(words)) return unionType(words);
  return { '^\\d+$': 'Id', '^\\d{8}$': 'CalendarDay' }[String(pattern)] ?? 'string';
}

const itemsOf = ({ items }: JsonSchema) => propertiesOf(items as JsonSchema | undefined);

const isOfTeams = (schema: JsonSchema) => 'team_id' in itemsOf(schema);

const unionType = (words: readonly unknown[]) => words.map((word) => `'${word}'`).join(' | ');

const parameterField = ([name, { description, schema }]: [string, QueryParameter<unknown>]) =>
  [name, { ...schema, description }] as const;

/** Removes the properties that `others` has. */
function omitProperties(properties: SchemaProperties, others: object): SchemaProperties {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !(name in others)));
}

const isEmpty = (properties: SchemaProperties) => Object.keys(properties).length === 0;

/** Converts `time entries` and `time_entries` to `TimeEntries`. */
const toPascalCase = (words: string) => words.replace(/(?:^|[ _])(.)/g, (_, letter: string) => letter.toUpperCase());

/** Formats code with the project's formatter. */
function formatCode(path: string, text: string): string {
  const { stdout, stderr, status } = spawnSync(biomePath, ['check', '--write', `--stdin-file-path=${path}`], {
    input: text,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${path}: ${stderr}`);
  return stdout;
}
