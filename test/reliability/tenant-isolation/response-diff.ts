import type { Answer } from '../../kit/service.ts';

/** Headers that differ between any two responses. */
const passing = ['date', 'x-request-id'];

/** Everything that a caller can compare of two responses. */
export function bytesOf({ status, headers, text }: Pick<Answer, 'status' | 'headers' | 'text'>): string {
  const told = [...headers].filter(([name]) => !passing.includes(name)).sort();
  return JSON.stringify([status, told, text]);
}

/**
 * Members of a body that must have equal values in both responses: the problem code, and the counters of an
 * import.
 */
const told = ['code', 'created', 'changed', 'unchanged', 'deleted'];

/** Structure of a response without new values: status, header names, member names, and the values of `told`. */
export function outlineOf({ status, headers, json }: Pick<Answer, 'status' | 'headers' | 'json'>): string {
  return JSON.stringify([status, [...headers.keys()].sort(), outline(json, '')]);
}

function outline(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => outline(item, ''));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, outline(inner, key)]));
  return told.includes(name) ? value : typeof value;
}

/** Returns what a response reveals; undefined if nothing. */
export type Judge = (theirs: Answer, nobodys: Answer) => string | undefined;

const said = ({ status, text }: Answer) => `${status} ${text.slice(0, 200)}`;

/** The response must equal that for an id that was never issued, byte for byte. */
export const hidden: Judge = (theirs, nobodys) =>
  bytesOf(theirs) === bytesOf(nobodys)
    ? undefined
    : `got ${said(theirs)}, and for an unknown id ${said(nobodys)}`;

/** The response must have the same structure as for a value that was never used. */
export const unheardOf: Judge = (theirs, nobodys) =>
  outlineOf(theirs) === outlineOf(nobodys)
    ? undefined
    : `got ${said(theirs)}, and for an unused value ${said(nobodys)}`;

/** C13, C14: the response is 401 not_permitted, since the record belongs to another user of the account. */
export const refused: Judge = (theirs) =>
  theirs.status === 401 && (theirs.text === '' || theirs.json.code === 'not_permitted')
    ? undefined
    : `got ${said(theirs)}, not 401 not_permitted`;

/** C2: every user of the account can read the record. */
export const shared: Judge = (theirs) => (theirs.status === 200 ? undefined : `got ${said(theirs)}, not 200`);

/** Whether a response contains the mark of another tenant. */
export function markIn(mark: string, { headers, text }: Pick<Answer, 'headers' | 'text'>): boolean {
  return text.includes(mark) || [...headers].some(([, value]) => value.includes(mark));
}
