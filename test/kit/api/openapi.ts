import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Json } from '../service/service.ts';

/** One operation of an OpenAPI document. `node` is its operation object in the document. */
export type Operation = { readonly method: string; readonly path: string; readonly node: Json };

const HTTP_METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** Returns a path without the names of its ids. OpenAPI treats two paths with the same shape as the same path. */
export const shapeOf = (path: string) => path.replace(/\{\w*\}/g, '{}');

/** Returns every operation of a document, with references replaced by their targets. */
export function operationsOf(document: Json): Operation[] {
  return Object.entries<Json>(inlineReferences(document).paths ?? {}).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => HTTP_METHODS.includes(method))
      .map((method) => ({ method: method.toUpperCase(), path, node: item[method] })),
  );
}

/** Returns the violations of the structure that OpenAPI 3.1 requires. The list is empty for a valid document. */
export function findStructuralViolations(document: Json): string[] {
  const danglingReferences = referencesIn(document).filter((ref) => resolveReference(document, ref) === undefined);
  if (danglingReferences.length > 0) return danglingReferences.map((ref) => `${ref} has no target`);
  const faults: string[] = [];
  const expect = (holds: unknown, fault: string) => {
    if (!holds) faults.push(fault);
  };
  expect(/^3\.1\.\d+$/.test(document.openapi), 'openapi is not 3.1');
  expect(typeof document.info?.title === 'string' && document.info.title !== '', 'info.title is missing');
  expect(typeof document.info?.version === 'string' && document.info.version !== '', 'info.version is missing');
  for (const server of document.servers ?? []) expect(URL.canParse(server.url), `server ${server.url} is not a URL`);
  for (const path of Object.keys(document.paths ?? {})) expect(path.startsWith('/'), `${path} does not begin with /`);
  for (const shape of duplicatesIn(Object.keys(document.paths ?? {}).map(shapeOf)))
    faults.push(`${shape} is defined twice, with different names`);

  const operations = operationsOf(document);
  expect(operations.length > 0, 'there are no operations');
  for (const id of duplicatesIn(operations.map(({ node }) => node.operationId)))
    faults.push(`operationId ${id} is not unique`);
  const ajv = createAjv();
  for (const operation of operations) faults.push(...findOperationViolations(document, operation, ajv));
  return faults;
}

function findOperationViolations(document: Json, { method, path, node }: Operation, ajv: Ajv2020): string[] {
  const faults: string[] = [];
  const expect = (holds: unknown, fault: string) => {
    if (!holds) faults.push(`${method} ${path}: ${fault}`);
  };
  expect(/^\w+$/.test(node.operationId ?? ''), 'operationId is missing');
  const parameters: Json[] = node.parameters ?? [];
  const pathParameters = parameters.filter((one) => one.in === 'path');
  const pathNames = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  expect(
    isSameSet(
      pathNames,
      pathParameters.map((one) => one.name),
    ),
    'the ids of the path are not its path parameters',
  );
  expect(
    pathParameters.every((one) => one.required === true),
    'a path parameter is not required',
  );
  expect(
    parameters.every((one) => ['path', 'query', 'header', 'cookie'].includes(one.in)),
    'a parameter has an unknown location',
  );
  expect(
    parameters.every((one) => one.schema !== undefined),
    'a parameter has no schema',
  );
  expect(duplicatesIn(parameters.map((one) => `${one.in} ${one.name}`)).length === 0, 'a parameter is defined twice');

  const responses = Object.entries<Json>(node.responses ?? {});
  expect(
    responses.some(([status]) => /^2\d\d$/.test(status)),
    'there is no success',
  );
  for (const [status, response] of responses) {
    expect(/^[1-5]\d\d$/.test(status), `${status} is not a status`);
    expect(typeof response.description === 'string' && response.description !== '', `${status} has no description`);
    expect(status === '304' || Object.keys(response.content ?? {}).length > 0, `${status} has no content`);
  }
  for (const requirement of node.security ?? document.security ?? []) {
    for (const scheme of Object.keys(requirement))
      expect(document.components?.securitySchemes?.[scheme] !== undefined, `security scheme ${scheme} is unknown`);
  }
  for (const schema of schemasOf(node)) {
    try {
      ajv.compile(schema);
    } catch (error) {
      faults.push(`${method} ${path}: a schema is invalid: ${error instanceof Error ? error.message : error}`);
    }
  }
  return faults;
}

function schemasOf(operation: Json): Json[] {
  const contents = [
    operation.requestBody?.content,
    ...Object.values<Json>(operation.responses).map((one) => one.content),
  ];
  const bodies = contents.flatMap((content) => Object.values<Json>(content ?? {}).map((media) => media.schema));
  return [...bodies, ...(operation.parameters ?? []).map((one: Json) => one.schema)];
}

/** Checks a response against a document. Returns the violation, or undefined. */
export type ResponseCheck = (answer: {
  method: string;
  /** Path as in the route definition, without the prefix of the route group. */
  path: string;
  status: number;
  contentType: string | null;
  body: unknown;
}) => string | undefined;

/** Creates a check of responses that is stricter than the document: undocumented fields are violations. */
export function createResponseCheck(document: Json): ResponseCheck {
  const operations = new Map(operationsOf(document).map((one) => [`${one.method} ${shapeOf(one.path)}`, one.node]));
  const ajv = createAjv();
  const validators = new Map<unknown, ValidateFunction>();
  return ({ method, path, status, contentType, body }) => {
    const response = operations.get(`${method} ${shapeOf(path)}`)?.responses[status];
    if (response === undefined) return `the document has no ${status} for ${method} ${path}`;
    const [media = ''] = (contentType ?? '').split(';');
    const content = response.content?.[media];
    if (content === undefined) return `the document has no ${media} for the ${status} of ${method} ${path}`;
    const validate = validators.get(content.schema) ?? ajv.compile(forbidExtraFields(content.schema));
    validators.set(content.schema, validate);
    return validate(body) ? undefined : `${method} ${path} ${status}: ${ajv.errorsText(validate.errors)}`;
  };
}

function createAjv(): Ajv2020 {
  // Register the service's own formats, because Ajv throws on unknown formats. Keywords such as `x-must` are allowed
  // because `strict` is off.
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { uri: URL.canParse } });
  for (const name of [
    'id',
    'id-or-none',
    'calendar-time',
    'calendar-time-or-none',
    'calendar-day-or-none',
    'decimal',
    'expiry',
  ])
    ajv.addFormat(name, true);
  return ajv;
}

/** Cache of documents in which references are replaced by their targets, by original document. */
const inlinedDocuments = new WeakMap<Json, Json>();

/** Returns the document with references replaced by their targets. This ends, because no schema is recursive. */
function inlineReferences(document: Json): Json {
  const cached = inlinedDocuments.get(document);
  if (cached !== undefined) return cached;
  const inlineNode = (node: Json): Json => {
    if (Array.isArray(node)) return node.map(inlineNode);
    if (typeof node !== 'object' || node === null) return node;
    const { $ref, ...own } = node;
    const parts = Object.fromEntries(Object.entries(own).map(([name, part]) => [name, inlineNode(part)]));
    return typeof $ref === 'string' ? { ...inlineNode(resolveReference(document, $ref)), ...parts } : parts;
  };
  const inlinedDocument = inlineNode(document);
  inlinedDocuments.set(document, inlinedDocument);
  return inlinedDocument;
}

/** Returns the schema with `additionalProperties: false` for every object. */
function forbidExtraFields(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(forbidExtraFields);
  if (typeof schema !== 'object' || schema === null) return schema;
  const strictSchema = Object.fromEntries(
    Object.entries(schema).map(([word, value]) => [word, forbidExtraFields(value)]),
  );
  return schema.type === 'object' && schema.properties !== undefined
    ? { ...strictSchema, additionalProperties: false }
    : strictSchema;
}

function referencesIn(node: Json): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const ownReferences = typeof node.$ref === 'string' ? [node.$ref] : [];
  return [...ownReferences, ...Object.values(node).flatMap(referencesIn)];
}

function resolveReference(document: Json, ref: string): Json {
  if (!ref.startsWith('#/')) return undefined;
  const steps = ref.slice(2).split('/');
  return steps.reduce((node, step) => node?.[step.replaceAll('~1', '/').replaceAll('~0', '~')], document);
}

function duplicatesIn(items: readonly unknown[]): unknown[] {
  return items.filter((item, index) => items.indexOf(item) !== index);
}

function isSameSet(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((item) => others.includes(item));
}
