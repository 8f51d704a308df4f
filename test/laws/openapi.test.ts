import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenApiDocument } from '../../src/http/routes/openapi.ts';
import { webhooks } from '../../src/resources/hooks/webhook.ts';
import { findStructuralViolations, operationsOf, shapeOf } from '../kit/api/openapi.ts';
import { apiRoutes } from '../kit/api/routes.ts';
import type { Json } from '../kit/service/service.ts';

// Client generators read the OpenAPI document. These rules satisfy the strictest generators. Rules that spectral:oas
// also contains have the same names.

const METHODS = ['get', 'put', 'post', 'delete'];

/** Schema keywords that apply only to one type. */
const KEYWORDS_BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  integer: ['minimum', 'maximum', 'exclusiveMaximum', 'multipleOf'],
  number: ['minimum', 'maximum', 'exclusiveMaximum', 'multipleOf'],
  array: ['items', 'minItems', 'maxItems'],
  object: ['properties', 'required'],
};

const nameOf = (value: unknown) => {
  if (value === null) return 'null';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return Array.isArray(value) ? 'array' : typeof value;
};

/** Returns the faults of a single schema, without the faults of its nested schemas. */
function schemaFaults(schema: Json): string[] {
  const faults: string[] = [];
  const { type, enum: words, items, anyOf, $ref } = schema;
  const types: readonly string[] = [type ?? []].flat();
  if (words !== undefined && new Set(words.map(nameOf)).size !== 1) faults.push('typed-enum: an enum of mixed types');
  if (words !== undefined && !words.every((word: unknown) => types.includes(nameOf(word))))
    faults.push('typed-enum: an enum without its type');
  if ('const' in schema && !types.includes(nameOf(schema.const))) faults.push('a const without its type');
  if (types.includes('array') && items === undefined) faults.push('array-items: an array without items');
  if (types.filter((one) => one !== 'null').length > 1) faults.push('more types than one; use anyOf');
  if (types.length === 0 && anyOf === undefined && $ref === undefined && Object.keys(schema).length > 0)
    faults.push('a schema without a type');
  for (const [of, keywords] of Object.entries(KEYWORDS_BY_TYPE)) {
    const stray = keywords.filter((keyword) => keyword in schema && !types.includes(of));
    const isOthers = (keyword: string) => types.some((one) => KEYWORDS_BY_TYPE[one]?.includes(keyword));
    for (const keyword of stray.filter((one) => !isOthers(one))) faults.push(`${keyword} without the type ${of}`);
  }
  for (const keyword of Object.keys(schema).filter((one) => /^x-(text|max|decimal)$/.test(one)))
    faults.push(`${keyword}, an internal keyword`);
  return faults;
}

/** Yields all schemas of a document with their paths. */
function* schemasIn(node: Json, place: string): Generator<[place: string, schema: Json]> {
  if (typeof node !== 'object' || node === null) return;
  for (const [name, value] of Object.entries<Json>(node)) {
    const at = `${place}/${name}`;
    if (name === 'schema' || name === 'items') yield [at, value];
    if (name === 'properties' || (name === 'schemas' && place.endsWith('components')) || name === 'anyOf')
      for (const [key, schema] of Object.entries<Json>(value)) yield [`${at}/${key}`, schema];
    yield* schemasIn(value, at);
  }
}

/** Returns a fault for each response and body that does not reference a named schema. */
function unnamedSchemas(operation: Json): string[] {
  const contents = [operation.requestBody, ...Object.values<Json>(operation.responses)].map(
    (one) => one?.content ?? {},
  );
  return contents
    .flatMap((content) => Object.entries<Json>(content))
    .filter(([media, { schema }]) => media.endsWith('json') && !/^#\/components\/schemas\/[A-Z]\w*$/.test(schema.$ref))
    .map(([media]) => `${media} without a named schema`);
}

function operationFaults(document: Json, operation: Json): string[] {
  const faults: string[] = unnamedSchemas(operation);
  const check = (holds: boolean, fault: string) => void (holds || faults.push(fault));
  check(/^[a-z]+(?:[A-Z][a-z]+)+$/.test(operation.operationId), 'operation-operationId: no name of a function');
  check(operation.summary?.length > 0, 'operation-summary');
  check(operation.description?.length > operation.summary?.length, 'operation-description');
  const known: readonly string[] = document.tags.map(({ name }: Json) => name);
  check(operation.tags.length === 1 && known.includes(operation.tags[0]), 'operation-tag-defined');
  check(
    operation.parameters.every(({ description }: Json) => description?.length > 0),
    'oas3-parameter-description',
  );
  return faults;
}

function faultsOf(document: Json): string[] {
  const { info, tags, components } = document;
  const faults: string[] = [];
  if (!URL.canParse(info.contact?.url)) faults.push('info-contact');
  if (!(info.description?.length > 0)) faults.push('info-description');
  for (const { name, description } of tags) if (!(description?.length > 0)) faults.push(`tag-description: ${name}`);
  const items = [...Object.entries<Json>(document.paths), ...Object.entries<Json>(document.webhooks)];
  for (const [path, item] of items)
    for (const method of METHODS.filter((one) => one in item))
      faults.push(...operationFaults(document, item[method]).map((fault) => `${method} ${path}: ${fault}`));
  for (const [place, schema] of schemasIn(document, '#'))
    faults.push(...schemaFaults(schema).map((fault) => `${place}: ${fault}`));
  const text = JSON.stringify(document);
  const unused = Object.keys(components.schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`));
  faults.push(...unused.map((name) => `oas3-unused-component: ${name}`));
  return faults;
}

const documentOf = (): Json =>
  JSON.parse(JSON.stringify(createOpenApiDocument(apiRoutes, 'http://localhost:8080', '0.0.0', webhooks)));

test('X6 the OpenAPI document suits client generators: every schema has one type, every operation its names', () => {
  assert.deepEqual([...findStructuralViolations(documentOf()), ...faultsOf(documentOf())], []);
});

test('X6 every request and response schema has its own name', () => {
  const { components, webhooks: sent } = documentOf();
  const names = Object.keys(components.schemas);
  const resourceTypes = [
    'Event',
    'Client',
    'Contact',
    'Project',
    'Task',
    'Subtask',
    'TimeEntry',
    'User',
    'Team',
    'Key',
  ];
  for (const resourceType of resourceTypes)
    for (const name of [
      resourceType,
      `${resourceType}Create`,
      `${resourceType}Update`,
      `${resourceType}List`,
      `${resourceType}Response`,
    ])
      assert.ok(names.includes(name), name);
  for (const name of ['Paging', 'Problem', 'Hook', 'HookCreate', 'HookKind', 'Permission', 'WebhookPayload'])
    assert.ok(names.includes(name), name);
  assert.ok(names.every((name) => /^(?:[A-Z][a-z]+)+$/.test(name)));
  assert.deepEqual(Object.keys(sent), ['notification']);
});

test('X6 the OpenAPI document has every limit of the field definitions', () => {
  const { components, paths } = documentOf();
  const { Event, EventCreate, TaskCreate, UserCreate, HookCreate, Paging } = components.schemas;
  assert.deepEqual(
    [EventCreate.properties.event_name.minLength, EventCreate.properties.event_name.maxLength],
    [1, 255],
  );
  assert.equal(Event.properties.event_name.maxLength, 255);
  assert.equal(TaskCreate.properties.notes.maxLength, 20_000);
  assert.equal(UserCreate.properties.email.maxLength, 254);
  assert.equal(HookCreate.properties.target_url.maxLength, 2_048);
  assert.equal(Paging.properties.limit.maximum, 1_000);
  const progress: readonly Json[] = TaskCreate.properties.progress.anyOf;
  assert.deepEqual(
    progress.map(({ type, pattern, minimum, maximum }) => [type, pattern ?? [minimum, maximum]]),
    [
      ['string', '^\\d{1,3}$'],
      ['integer', [0, 100]],
    ],
  );
  for (const { method, node, path } of operationsOf(documentOf())) {
    const row = apiRoutes.find((one) => one.method === method && shapeOf(`/v2${one.path}`) === shapeOf(path));
    const documented: Json = node.requestBody?.content['application/json'].schema.properties;
    for (const [name, accepts] of Object.entries<Json>(row?.bodySchema?.properties ?? {})) {
      const { min = 0, max } = accepts['x-text'] ?? {};
      const { minLength = 0, maxLength } = documented[name];
      assert.deepEqual([minLength, maxLength], [accepts.minLength ?? min, accepts.maxLength ?? max], `${path} ${name}`);
    }
  }
  for (const item of Object.values<Json>(paths))
    for (const { in: place, schema } of METHODS.flatMap((method) => item[method]?.parameters ?? []))
      if (place !== 'header' && schema.type === 'string')
        assert.ok(schema.pattern !== undefined || schema.enum !== undefined || schema.maxLength !== undefined);
});

test('the check detects faults that break client generators', () => {
  const spoiledDocuments: readonly (readonly [fault: RegExp, spoil: (document: Json) => void])[] = [
    [
      /typed-enum: an enum of mixed types/,
      ({ components: { schemas } }) => Object.assign(schemas.Flag, { enum: ['0', 0] }),
    ],
    [/array-items/, ({ components: { schemas } }) => void delete schemas.Deleted.items],
    [
      /more types than one/,
      ({ components: { schemas } }) => Object.assign(schemas.Flag, { type: ['string', 'integer'] }),
    ],
    [
      /operation-operationId/,
      ({ paths }) => Object.assign(paths['/v2/events'].get, { operationId: 'getEventsByid_2' }),
    ],
    [/operation-tag-defined/, ({ tags }) => void tags.pop()],
    [/operation-description/, ({ paths }) => void delete paths['/v2/events'].get.description],
    [/info-contact/, ({ info }) => void delete info.contact],
    [
      /without a named schema/,
      ({ paths }) => Object.assign(paths['/v2/user'].get.responses[200].content['application/json'], { schema: {} }),
    ],
    [/oas3-unused-component/, ({ components: { schemas } }) => Object.assign(schemas, { Unused: { type: 'string' } })],
    [
      /pattern without the type string/,
      ({ components: { schemas } }) => Object.assign(schemas.Paging, { pattern: 'x' }),
    ],
  ];
  for (const [fault, spoil] of spoiledDocuments) {
    const document = documentOf();
    spoil(document);
    assert.match(faultsOf(document).join('\n'), fault);
  }
  const document = documentOf();
  delete document.components.schemas.Event;
  assert.match(findStructuralViolations(document).join(), /#\/components\/schemas\/Event has no target/);
});
