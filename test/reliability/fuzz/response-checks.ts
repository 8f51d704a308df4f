import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { createResponseCheck, shapeOf } from '../../kit/api/openapi.ts';
import type { Json } from '../../kit/service/service.ts';
import type { Operation } from './document.ts';
import type { RawResponse } from './raw-client.ts';
import { type RequestDraft, requestTarget, serializeBody } from './requests.ts';
import { findUnstorable } from './unstorable.ts';

/** Internals that no response may contain: stack traces, SQL, file names, database errors. */
const LEAK_PATTERN =
  /\n\s+at |node:internal|\.ts:\d|\bselect\b.+\bfrom\b|\binsert into\b|sqlite|postgres|constraint|ECONN|errno/i;

/** Statuses allowed where the document has no operation: unknown path or method, or an address that is too long. */
const UNDOCUMENTED_STATUSES = new Set([400, 401, 404, 414]);

/**
 * Headers that are allowed on every response, including those for proxies. The document lists all other headers of
 * each response.
 */
const COMMON_HEADERS = new Set([
  ...['cache-control', 'connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'],
  ...['x-request-id', 'www-authenticate', 'x-accel-buffering'],
]);

/** Checks a response to a request. Returns the fault, or undefined if there is none. */
export type ResponseCheck = (draft: RequestDraft, reply: RawResponse) => string | undefined;

export function responseChecker(document: Json, operations: readonly Operation[]): ResponseCheck {
  const schemaFault = createResponseCheck(document);
  const bodyFault = createBodyCheck(operations);

  const known = new Map(operations.map((one) => [`${one.method} ${shapeOf(one.path)}`, one]));
  /**
   * Returns the operation that a request addresses, if any. The same path with another method may be another
   * operation.
   */
  const addressedOperation = ({ operation, method, ids, suffix }: RequestDraft) =>
    ['', '?'].includes(suffix) && ids.every((id) => /^(\d|%3\d){1,64}$/.test(id))
      ? known.get(`${method === 'HEAD' ? 'GET' : method} ${shapeOf(operation.path)}`)
      : undefined;

  return (draft, { status, headers, body }) => {
    const { method, corruptions } = draft;
    const text = body.toString();
    if (status >= 500 || status < 200) return `${status} ${text}`;
    const operation = addressedOperation(draft);
    if (operation === undefined && !UNDOCUMENTED_STATUSES.has(status))
      return `${method} ${requestTarget(draft)} is answered ${status}`;
    const inHead = headerFault(operation?.responses[status]?.headers ?? {}, headers);
    if (inHead !== undefined) return `${method} ${requestTarget(draft)} is answered ${status} ${inHead}`;
    // These responses have no body to check.
    if (method === 'HEAD' || status === 304) {
      const isKnown = operation === undefined || operation.responses[status] !== undefined;
      return isKnown && body.length === 0 ? undefined : `${method} is answered ${status}, ${body.length} octets`;
    }
    const contentType = headers.get('content-type') ?? null;
    const json = parseJson(text);
    if (operation !== undefined) {
      const parsed = contentType?.startsWith('text/event-stream') ? text : json;
      const fault = schemaFault({ method, path: operation.path, status, contentType, body: parsed });
      if (fault !== undefined) return `${fault}: ${text.slice(0, 500)}`;
    }
    if (status >= 400)
      return LEAK_PATTERN.test(text) ? `it tells too much: ${text}` : problemFault(operation, json, headers);
    if (corruptions.includes('a stranger')) return `a stranger is answered ${status}`;
    if (status === 201 && !isApiAddress(headers.get('location'), document))
      return '201 without a Location that leads there';
    if (operation === undefined) return undefined;
    const unstorableField = findUnstorable(operation, draft.query, serializeBody(draft)?.toString());
    return unstorableField === undefined
      ? bodyFault(operation, draft)
      : `a text in ${unstorableField} that no database keeps is taken`;
  };
}

/** Reports a header that the document does not list, or a listed header that is missing. `Link` is optional. */
function headerFault(documented: Json, headers: RawResponse['headers']): string | undefined {
  const names = Object.keys(documented).map((name) => name.toLowerCase());
  const extra = [...headers.keys()].find((name) => !COMMON_HEADERS.has(name) && !names.includes(name));
  if (extra !== undefined) return `with the header ${extra}`;
  const missing = ['etag', 'location'].find((name) => names.includes(name) && !headers.has(name));
  if (missing !== undefined) return `without the header ${missing}`;
  const link = headers.get('link');
  return link === undefined || /^<http[^<>"\s]+>; rel="next"$/.test(link) ? undefined : `with the link ${link}`;
}

/** Whether a `Location` is an address of the API in the document. */
function isApiAddress(location: string | undefined, document: Json): boolean {
  const [{ url = '' } = {}]: { url?: string }[] = document.servers ?? [];
  return location?.startsWith(`${url}/v2/`) === true;
}

/** Checks that the document lists this problem for the operation, and that its members are complete. */
function problemFault(
  operation: Operation | undefined,
  json: Json,
  headers: RawResponse['headers'],
): string | undefined {
  if (json?.status === 401 && headers.get('www-authenticate') === undefined) return '401 without a challenge';
  if (operation === undefined) return typeof json?.code === 'string' ? undefined : 'a problem without a code';
  const { description } = operation.responses[json.status];
  if (!` ${description}`.includes(` ${json.code}: `)) return `${json.code} is no problem of ${operation.name}`;
  if (json.code !== 'invalid_input') return undefined;
  const { properties = {} } = operation.body ?? {};
  const fields = [...Object.keys(properties), ...[...operation.query, ...operation.headers].map(({ name }) => name)];
  const named: readonly string[] = json.errors?.map((one: Json) => one.field) ?? [];
  const isNamed = named.length > 0 && named.every((field) => fields.includes(field));
  return isNamed ? undefined : `${operation.name} names ${named.join() || 'no field'}`;
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the value with all strings trimmed, because the service measures lengths after trimming. */
function trimStrings(value: Json): Json {
  if (typeof value === 'string') return value.trim();
  if (Array.isArray(value)) return value.map(trimStrings);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, trimStrings(one)]));
}

/** Returns a function that checks whether the body of an accepted request is valid according to the document. */
function createBodyCheck(
  operations: readonly Operation[],
): (operation: Operation, draft: RequestDraft) => string | undefined {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  const validators = new Map<Operation, ValidateFunction>();
  for (const operation of operations) if (operation.body) validators.set(operation, ajv.compile(operation.body));
  return (operation, draft) => {
    const validate = validators.get(operation);
    const sent =
      serializeBody(draft)
        ?.toString()
        .replace(/^\ufeff/, '') ?? '';
    if (validate === undefined) return undefined;
    return validate(trimStrings(parseJson(sent)))
      ? undefined
      : `it was taken, and ${ajv.errorsText(validate.errors)}: ${sent.slice(0, 500)}`;
  };
}
