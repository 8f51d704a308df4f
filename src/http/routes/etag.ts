import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { invalidInput, Problem } from '../../problems.ts';
import { headerLines } from '../server/headers.ts';
import { type EntityTag, parseEntityTags } from './entity-tags.ts';
import type { Route } from './route.ts';

/** What a header names: any representation, or these tags. */
type EntityTags = '*' | readonly EntityTag[];

/** What a request demands of the record as it is (RFC 9110, 13.1). */
export type Conditions = { readonly ifMatch: EntityTags | undefined; readonly ifNoneMatch: EntityTags | undefined };

/** The strong tag of a representation: a hash of its bytes (X5). */
export function etagOf(text: string): string {
  return `"${hash('sha256', text, 'base64url').slice(0, 22)}"`;
}

/** The conditions of a request; undefined when it has none. One that cannot be read is refused, never passed over. */
export function conditionsOf(request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): Conditions | undefined {
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
 * What the conditions come to for a record with this tag (RFC 9110, 13.2.2). If-Match compares strongly, If-None-Match
 * weakly.
 */
export function evaluatePreconditions(
  { ifMatch, ifNoneMatch }: Conditions,
  tag: string,
): 'holds' | 'matched' | 'differs' {
  const isStrong = ifMatch === undefined || ifMatch === '*' || ifMatch.some((one) => !one.isWeak && one.opaque === tag);
  if (!isStrong) return 'differs';
  if (ifNoneMatch === undefined) return 'holds';
  return ifNoneMatch === '*' || ifNoneMatch.some((one) => one.opaque === tag) ? 'matched' : 'holds';
}

/** Refuses a change of a record that is not as the request demands. */
export function requirePreconditions(conditions: Conditions, tag: string): void {
  if (evaluatePreconditions(conditions, tag) !== 'holds') throw new Problem('precondition_failed');
}

/** The path of a row, as it is spelled where its record is answered. */
const pathOf = ({ path, aliasOf }: Route) => aliasOf ?? path;

/** The row that answers the record at the very path of this one: what a condition on it is about. */
export function representationOf(row: Route, rows: readonly Route[]): Extract<Route, { mode: 'read' }> | undefined {
  return rows.filter((one) => one.mode === 'read').find((one) => one.conditional && one.path === pathOf(row));
}

const shapeOf = (path: string) => path.replace(/\{\w+\}/g, '{}');

/** Whether what a row answers is the representation of a single record, so that its tag is that of a GET of the record. */
export function isTagged(row: Route, rows: readonly Route[]): boolean {
  if (row.mode !== 'write') return row.conditional;
  const record = `/${pathOf(row).split('/')[1]}/{}`;
  const shown = rows.find((one) => one.mode === 'read' && one.conditional && shapeOf(one.path) === record);
  return shown !== undefined && JSON.stringify(shown.answer) === keptSchema(row);
}

/** The names of the fields that the answer of a row shows this once. */
export function shownOnceBy(row: Route): readonly string[] {
  return Object.entries(recordProperties(row))
    .filter(([, schema]) => schema['x-shown-once'] === true)
    .map(([name]) => name);
}

type Schemas = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function recordProperties(row: Route): Schemas {
  const { data } = (row.answer.properties ?? {}) as Schemas;
  return (data?.properties ?? {}) as Schemas;
}

/** The schema of an answer without what is shown once, as it is written. */
function keptSchema({ answer }: Route): string {
  const whole = JSON.stringify(answer);
  // Few have anything of that, and not every value of the others need be looked at.
  if (!whole.includes('"x-shown-once":true')) return whole;
  return JSON.stringify(answer, (_, value) => (value?.['x-shown-once'] === true ? undefined : value));
}

/** What an answer comes to without what is shown once: what may be kept, and what its tag is of. */
export function without(names: readonly string[], body: unknown): unknown {
  if (names.length === 0) return body;
  const { data } = body as { data: Readonly<Record<string, unknown>> };
  return { data: Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name))) };
}
