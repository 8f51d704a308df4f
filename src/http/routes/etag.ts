import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { invalidInput, Problem } from '../../problems.ts';
import { readHeaderValues } from '../server/cors.ts';
import type { Route } from './route.ts';

/** The value of If-Match or If-None-Match: `*` for any representation, or a list of tags. */
type EntityTags = '*' | readonly EntityTag[];

/** The preconditions of a request (RFC 9110, 13.1). */
export type Preconditions = { readonly ifMatch: EntityTags | undefined; readonly ifNoneMatch: EntityTags | undefined };

/** Returns the strong ETag of a representation: a hash of its bytes (X5). */
export function etagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`;
}

/** Reads the preconditions of a request; undefined if it has none. Throws `invalid_input` for a malformed header. */
export function readPreconditions(request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): Preconditions | undefined {
  const { headers } = request;
  if (headers['if-match'] === undefined && headers['if-none-match'] === undefined) return undefined;
  return { ifMatch: readEntityTags(request, 'If-Match'), ifNoneMatch: readEntityTags(request, 'If-None-Match') };
}

function readEntityTags(request: Pick<IncomingMessage, 'rawHeaders'>, header: string): EntityTags | undefined {
  const headerValues = readHeaderValues(request, header.toLowerCase());
  if (headerValues.length === 0) return undefined;
  const text = headerValues.join(',').trim();
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
  currentEtag: string,
): 'holds' | 'matched' | 'differs' {
  const satisfiesIfMatch =
    ifMatch === undefined ||
    ifMatch === '*' ||
    ifMatch.some((entityTag) => !entityTag.isWeak && entityTag.opaque === currentEtag);
  if (!satisfiesIfMatch) return 'differs';
  if (ifNoneMatch === undefined) return 'holds';
  return ifNoneMatch === '*' || ifNoneMatch.some((entityTag) => entityTag.opaque === currentEtag) ? 'matched' : 'holds';
}

/** Throws `precondition_failed` (412) unless the If-Match and If-None-Match headers of a change hold. */
export function requirePreconditions(preconditions: Preconditions, currentEtag: string): void {
  if (evaluatePreconditions(preconditions, currentEtag) !== 'holds') throw new Problem('precondition_failed');
}

/** Returns the path of a route; for an alias, the path of the original route. */
const canonicalPathOf = ({ path, aliasOf }: Route) => aliasOf ?? path;

/** Finds the GET route at the same path. The preconditions of a change apply to the response of this GET. */
export function findRepresentationRoute(
  route: Route,
  routes: readonly Route[],
): Extract<Route, { mode: 'read' }> | undefined {
  return routes
    .filter((candidate) => candidate.mode === 'read')
    .find((candidate) => candidate.supportsPreconditions && candidate.path === canonicalPathOf(route));
}

/** Returns a path without the names of its ids: `/events/{}` for `/events/{event_id}`. */
const pathShapeOf = (path: string) => path.replace(/\{\w+\}/g, '{}');

/**
 * Whether the responses of a route have an ETag. The response to a write has one if it represents a single record. This
 * ETag is the same as that of a GET of the record.
 */
export function hasEtag(route: Route, routes: readonly Route[]): boolean {
  if (route.mode !== 'write') return route.supportsPreconditions;
  const recordPathShape = `/${canonicalPathOf(route).split('/')[1]}/{}`;
  const recordRoute = routes.find(
    (candidate) =>
      candidate.mode === 'read' && candidate.supportsPreconditions && pathShapeOf(candidate.path) === recordPathShape,
  );
  return recordRoute !== undefined && JSON.stringify(recordRoute.responseSchema) === storableSchemaOf(route);
}

/** Returns the names of the response fields that are returned only once, such as secrets. */
export function shownOnceFieldNamesOf(route: Route): readonly string[] {
  return Object.entries(recordFieldSchemasOf(route))
    .filter(([, schema]) => schema['x-shown-once'] === true)
    .map(([name]) => name);
}

type FieldSchemas = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function recordFieldSchemasOf(route: Route): FieldSchemas {
  const { data } = (route.responseSchema.properties ?? {}) as FieldSchemas;
  return (data?.properties ?? {}) as FieldSchemas;
}

/** The response schema as JSON, without the fields that are shown once. */
function storableSchemaOf({ responseSchema }: Route): string {
  return JSON.stringify(responseSchema, (_, value) => (value?.['x-shown-once'] === true ? undefined : value));
}

/**
 * Removes fields that are shown once from a response body. The result is stored for replays, and its hash is the ETag.
 */
export function omitFields(fieldNames: readonly string[], body: unknown): unknown {
  if (fieldNames.length === 0) return body;
  const { data } = body as { data: Readonly<Record<string, unknown>> };
  return { data: Object.fromEntries(Object.entries(data).filter(([name]) => !fieldNames.includes(name))) };
}

/** An entity tag of a header list: the quoted opaque tag, and whether it has the prefix `W/`. */
type EntityTag = { readonly opaque: string; readonly isWeak: boolean };

const OPAQUE_TAG_PATTERN = /^"[\x21\x23-\x7e\x80-\xff]*"$/;

/**
 * Parses a list of entity tags (RFC 9110, 5.6.1 and 8.8.3); undefined if it is malformed or empty. It scans instead of
 * using a regular expression, so that the time is linear in the length of untrusted input.
 */
export function parseEntityTags(text: string): readonly EntityTag[] | undefined {
  const tags: EntityTag[] = [];
  let needsComma = false;
  let position = 0;
  while (position < text.length) {
    const char = text[position];
    if (char === ' ' || char === '\t' || char === ',') {
      if (char === ',') needsComma = false;
      position += 1;
      continue;
    }
    const isWeak = text.startsWith('W/', position);
    const tagStart = isWeak ? position + 2 : position;
    const tagEnd = text.indexOf('"', tagStart + 1) + 1;
    const opaque = text.slice(tagStart, tagEnd);
    if (needsComma || !OPAQUE_TAG_PATTERN.test(opaque)) return undefined;
    tags.push({ opaque, isWeak });
    needsComma = true;
    position = tagEnd;
  }
  return tags.length === 0 ? undefined : tags;
}
