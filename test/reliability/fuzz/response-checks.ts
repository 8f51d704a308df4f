import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { responseValidator, shapeOf } from '../../kit/api/openapi.ts';
import type { Json } from '../../kit/service/service.ts';
import type { Operation } from './document.ts';
import type { Reply } from './raw-client.ts';
import { addressOf, bodyOf, type Draft } from './requests.ts';
import { unstorableIn } from './unstorable.ts';

/** Internals that no response may contain: stack traces, SQL, file names, database errors. */
const LEAK =
  /\n\s+at |node:internal|\.ts:\d|\bselect\b.+\bfrom\b|\binsert into\b|sqlite|postgres|constraint|ECONN|errno/i;

/** Statuses allowed where the document has no operation: unknown path or method, or an address that is too long. */
const UNDOCUMENTED_STATUSES = new Set([400, 401, 404, 414]);

/**
 * Headers that are allowed on every response, including those for proxies. The document lists all other headers of
 * each response.
 */
const HEADERS = new Set([
  ...['cache-control', 'connection', 'content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding'],
  ...['x-request-id', 'www-authenticate', 'x-accel-buffering'],
]);

/** Checks a response to a request. Returns the fault, or undefined if there is none. */
export type Judge = (draft: Draft, reply: Reply) => string | undefined;

export function responseChecker(document: Json, operations: readonly Operation[]): Judge {
  const schemaFault = responseValidator(document);
  const takes = acceptance(operations);

  const known = new Map(operations.map((one) => [`${one.method} ${shapeOf(one.path)}`, one]));
  /**
   * Returns the operation that a request addresses, if any. The same path with another method may be another
   * operation.
   */
  const meant = ({ operation, method, ids, suffix }: Draft) =>
    ['', '?'].includes(suffix) && ids.every((id) => /^(\d|%3\d){1,64}$/.test(id))
      ? known.get(`${method === 'HEAD' ? 'GET' : method} ${shapeOf(operation.path)}`)
      : undefined;

  return (draft, { status, headers, body }) => {
    const { method, corruptions } = draft;
    const text = body.toString();
    if (status >= 500 || status < 200) return `${status} ${text}`;
    const operation = meant(draft);
    if (operation === undefined && !UNDOCUMENTED_STATUSES.has(status))
      return `${method} ${addressOf(draft)} is answered ${status}`;
    const inHead = headerFault(operation?.responses[status]?.headers ?? {}, headers);
    if (inHead !== undefined) return `${method} ${addressOf(draft)} is answered ${status} ${inHead}`;
    // These responses have no body to check.
    if (method === 'HEAD' || status === 304) {
      const isKnown = operation === undefined || operation.responses[status] !== undefined;
      return isKnown && body.length === 0 ? undefined : `${method} is answered ${status}, ${body.length} octets`;
    }
    const contentType = headers.get('content-type') ?? null;
    const json = jsonIn(text);
    if (operation !== undefined) {
      const parsed = contentType?.startsWith('text/event-stream') ? text : json;
      const fault = schemaFault({ method, path: operation.path, status, contentType, body: parsed });
      if (fault !== undefined) return `${fault}: ${text.slice(0, 500)}`;
    }
    if (status >= 400) return LEAK.test(text) ? `it tells too much: ${text}` : problemFault(operation, json, headers);
    if (corruptions.includes('a stranger')) return `a stranger is answered ${status}`;
    if (status === 201 && !leadsTo(headers.get('location'), document)) return '201 without a Location that leads there';
    if (operation === undefined) return undefined;
    const unkeepable = unstorableIn(operation, draft.query, bodyOf(draft)?.toString());
    return unkeepable === undefined
      ? takes(operation, draft)
      : `a text in ${unkeepable} that no database keeps is taken`;
  };
}

/** Reports a header that the document does not list, or a listed header that is missing. `Link` is optional. */
function headerFault(documented: Json, headers: Reply['headers']): string | undefined {
  const names = Object.keys(documented).map((name) => name.toLowerCase());
  const extra = [...headers.keys()].find((name) => !HEADERS.has(name) && !names.includes(name));
  if (extra !== undefined) return `with the header ${extra}`;
  const missing = ['etag', 'location'].find((name) => names.includes(name) && !headers.has(name));
  if (missing !== undefined) return `without the header ${missing}`;
  const link = headers.get('link');
  return link === undefined || /^<http[^<>"\s]+>; rel="next"$/.test(link) ? undefined : `with the link ${link}`;
}

/** Whether a `Location` is an address of the API in the document. */
function leadsTo(location: string | undefined, document: Json): boolean {
  const [{ url = '' } = {}]: { url?: string }[] = document.servers ?? [];
  return location?.startsWith(`${url}/v2/`) === true;
}

/** Checks that the document lists this problem for the operation, and that its members are complete. */
function problemFault(operation: Operation | undefined, json: Json, headers: Reply['headers']): string | undefined {
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

function jsonIn(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the value with all strings trimmed, because the service measures lengths after trimming. */
function trimmed(value: Json): Json {
  if (typeof value === 'string') return value.trim();
  if (Array.isArray(value)) return value.map(trimmed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, trimmed(one)]));
}

/** Returns a function that checks whether the body of an accepted request is valid according to the document. */
function acceptance(operations: readonly Operation[]): (operation: Operation, draft: Draft) => string | undefined {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  const validators = new Map<Operation, ValidateFunction>();
  for (const operation of operations) if (operation.body) validators.set(operation, ajv.compile(operation.body));
  return (operation, draft) => {
    const validate = validators.get(operation);
    const sent =
      bodyOf(draft)
        ?.toString()
        .replace(/^\ufeff/, '') ?? '';
    if (validate === undefined) return undefined;
    return validate(trimmed(jsonIn(sent)))
      ? undefined
      : `it was taken, and ${ajv.errorsText(validate.errors)}: ${sent.slice(0, 500)}`;
  };
}
