import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { invalidInput, Problem } from '../../problems.ts';
import { headerLines } from '../server/cors.ts';
import type { Route } from './route.ts';

/** The value of If-Match or If-None-Match: `*` for any representation, or a list of tags. */
type EntityTags = '*' | readonly EntityTag[];

/** The preconditions of a request (RFC 9110, 13.1). */
export type Preconditions = { readonly ifMatch: EntityTags | undefined; readonly ifNoneMatch: EntityTags | undefined };

/** The strong ETag of a representation: a hash of its bytes (X5). */
export function etagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`;
}

/** The preconditions of a request; undefined if it has none. Throws `invalid_input` for a malformed header. */
export function preconditionsOf(request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): Preconditions | undefined {
  const { headers } = request;
  if (headers['if-match'] === undefined && headers['if-none-match'] === undefined) return undefined;
  return { ifMatch: entityTagsIn(request, 'If-Match'), ifNoneMatch: entityTagsIn(request, 'If-None-Match') };
}

function entityTagsIn(request: Pick<IncomingMessage, 'rawHeaders'>, header: string): EntityTags | undefined {
  const lines = headerLines(request, header.toLowerCase());
  if (lines.length === 0) return undefined;
  const text = lines.join(',').trim();
  if (text === '*') return '*';
  const tags = parseEntityTags(text);
  if (tags === undefined) {
    throw invalidInput([{ field: header, message: 'must be * or a list of entity tags in double quotes' }]);
  }
  return tags;
}

/**
 * Evaluates preconditions against an ETag (RFC 9110, 13.2.2): `differs` if If-Match fails (strong comparison),
 * `matched` if If-None-Match fails (weak comparison), otherwise `holds`.
 */
export function evaluatePreconditions(
  { ifMatch, ifNoneMatch }: Preconditions,
  tag: string,
): 'holds' | 'matched' | 'differs' {
  const isStrong = ifMatch === undefined || ifMatch === '*' || ifMatch.some((one) => !one.isWeak && one.opaque === tag);
  if (!isStrong) return 'differs';
  if (ifNoneMatch === undefined) return 'holds';
  return ifNoneMatch === '*' || ifNoneMatch.some((one) => one.opaque === tag) ? 'matched' : 'holds';
}

/** Throws `precondition_failed` unless the preconditions of a change hold. */
export function requirePreconditions(conditions: Preconditions, tag: string): void {
  if (evaluatePreconditions(conditions, tag) !== 'holds') throw new Problem('precondition_failed');
}

/** The canonical path of a route. */
const canonicalPathOf = ({ path, aliasOf }: Route) => aliasOf ?? path;

/** The GET route at the same path. The preconditions of a change apply to the response of this GET. */
export function representationOf(route: Route, routes: readonly Route[]): Extract<Route, { mode: 'read' }> | undefined {
  return routes
    .filter((one) => one.mode === 'read')
    .find((one) => one.conditional && one.path === canonicalPathOf(route));
}

const pathShapeOf = (path: string) => path.replace(/\{\w+\}/g, '{}');

/**
 * Whether the responses of a route have an ETag: each represents a single record, so its ETag equals that of a GET of
 * the record.
 */
export function hasEtag(route: Route, routes: readonly Route[]): boolean {
  if (route.mode !== 'write') return route.conditional;
  const record = `/${canonicalPathOf(route).split('/')[1]}/{}`;
  const getRoute = routes.find((one) => one.mode === 'read' && one.conditional && pathShapeOf(one.path) === record);
  return getRoute !== undefined && JSON.stringify(getRoute.responseSchema) === storableSchema(route);
}

/** The names of response fields that are returned only once, such as secrets. */
export function shownOnceFields(route: Route): readonly string[] {
  return Object.entries(recordProperties(route))
    .filter(([, schema]) => schema['x-shown-once'] === true)
    .map(([name]) => name);
}

type SchemaProperties = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function recordProperties(route: Route): SchemaProperties {
  const { data } = (route.responseSchema.properties ?? {}) as SchemaProperties;
  return (data?.properties ?? {}) as SchemaProperties;
}

/** The response schema as JSON, without the fields that are shown once. */
function storableSchema({ responseSchema }: Route): string {
  const json = JSON.stringify(responseSchema);
  // Return early, because few schemas have such a field and a replacer is slow.
  if (!json.includes('"x-shown-once":true')) return json;
  return JSON.stringify(responseSchema, (_, value) => (value?.['x-shown-once'] === true ? undefined : value));
}

/**
 * Removes fields that are shown once from a response body. The result is stored for replays, and its hash is the ETag.
 */
export function omitFields(names: readonly string[], body: unknown): unknown {
  if (names.length === 0) return body;
  const { data } = body as { data: Readonly<Record<string, unknown>> };
  return { data: Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name))) };
}

/** An entity tag of a header list: the quoted opaque tag, and whether it has the prefix `W/`. */
type EntityTag = { readonly opaque: string; readonly isWeak: boolean };

const OPAQUE_TAG = /^"[\x21\x23-\x7e\x80-\xff]*"$/;

/**
 * Parses a list of entity tags (RFC 9110, 5.6.1 and 8.8.3); undefined if it is malformed or empty. It scans instead of
 * using a regular expression, so that the time is linear in the length of untrusted input.
 */
export function parseEntityTags(text: string): readonly EntityTag[] | undefined {
  const tags: EntityTag[] = [];
  let needsComma = false;
  let at = 0;
  while (at < text.length) {
    const char = text[at];
    if (char === ' ' || char === '\t' || char === ',') {
      if (char === ',') needsComma = false;
      at += 1;
      continue;
    }
    const isWeak = text.startsWith('W/', at);
    const start = isWeak ? at + 2 : at;
    const end = text.indexOf('"', start + 1) + 1;
    const opaque = text.slice(start, end);
    if (needsComma || !OPAQUE_TAG.test(opaque)) return undefined;
    tags.push({ opaque, isWeak });
    needsComma = true;
    at = end;
  }
  return tags.length === 0 ? undefined : tags;
}
