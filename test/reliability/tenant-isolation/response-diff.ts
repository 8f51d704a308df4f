import type { Answer } from '../../kit/service/service.ts';

/** Headers that differ between any two responses. */
const varyingHeaders = ['date', 'x-request-id'];

/** Everything that a caller can compare of two responses. */
export function bytesOf({ status, headers, text }: Pick<Answer, 'status' | 'headers' | 'text'>): string {
  const comparable = [...headers].filter(([name]) => !varyingHeaders.includes(name)).sort();
  return JSON.stringify([status, comparable, text]);
}

/**
 * Members of a body that must have equal values in both responses: the problem code, and the counters of an
 * import.
 */
const stableMembers = ['code', 'created', 'changed', 'unchanged', 'deleted'];

/** Structure of a response without new values: status, header names, member names, and the values of `stableMembers`. */
export function outlineOf({ status, headers, json }: Pick<Answer, 'status' | 'headers' | 'json'>): string {
  return JSON.stringify([status, [...headers.keys()].sort(), outline(json, '')]);
}

function outline(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => outline(item, ''));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, outline(inner, key)]));
  return stableMembers.includes(name) ? value : typeof value;
}

/** Returns what a response reveals; undefined if nothing. */
export type ResponseCheck = (foreign: Answer, unknown: Answer) => string | undefined;

const describe = ({ status, text }: Answer) => `${status} ${text.slice(0, 200)}`;

/** The response must equal that for an id that was never issued, byte for byte. */
export const hidden: ResponseCheck = (foreign, unknown) =>
  bytesOf(foreign) === bytesOf(unknown)
    ? undefined
    : `got ${describe(foreign)}, and for an unknown id ${describe(unknown)}`;

/** The response must have the same structure as for a value that was never used. */
export const looksUnused: ResponseCheck = (foreign, unknown) =>
  outlineOf(foreign) === outlineOf(unknown)
    ? undefined
    : `got ${describe(foreign)}, and for an unused value ${describe(unknown)}`;

/** C13, C14: the response is 401 not_permitted, since the record belongs to another user of the account. */
export const notPermitted: ResponseCheck = (foreign) =>
  foreign.status === 401 && (foreign.text === '' || foreign.json.code === 'not_permitted')
    ? undefined
    : `got ${describe(foreign)}, not 401 not_permitted`;

/** C2: every user of the account can read the record. */
export const shared: ResponseCheck = (foreign) =>
  foreign.status === 200 ? undefined : `got ${describe(foreign)}, not 200`;

/** Whether a response contains the mark of another tenant. */
export function markIn(mark: string, { headers, text }: Pick<Answer, 'headers' | 'text'>): boolean {
  return text.includes(mark) || [...headers].some(([, value]) => value.includes(mark));
}
