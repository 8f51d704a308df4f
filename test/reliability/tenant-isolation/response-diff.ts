import type { Answer } from '../../kit/service.ts';

/** What differs from one answer to the next by itself. */
const passing = ['date', 'x-request-id'];

/** Everything that a caller can compare two answers by. */
export function bytesOf({ status, headers, text }: Pick<Answer, 'status' | 'headers' | 'text'>): string {
  const told = [...headers].filter(([name]) => !passing.includes(name)).sort();
  return JSON.stringify([status, told, text]);
}

/** What is the same in two answers to the same request, of whatever is new in each: the code, and what came of a file. */
const told = ['code', 'created', 'changed', 'unchanged', 'deleted'];

/** An answer without what is new each time: its status, its headers by name, the names in its body, and what is told. */
export function outlineOf({ status, headers, json }: Pick<Answer, 'status' | 'headers' | 'json'>): string {
  return JSON.stringify([status, [...headers.keys()].sort(), outline(json, '')]);
}

function outline(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => outline(item, ''));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, outline(inner, key)]));
  return told.includes(name) ? value : typeof value;
}

/** What is wrong with an answer by which somebody asks for what is not theirs; undefined when nothing is. */
export type Judge = (theirs: Answer, nobodys: Answer) => string | undefined;

const said = ({ status, text }: Answer) => `${status} ${text.slice(0, 200)}`;

/** As for what was never issued, byte for byte. */
export const hidden: Judge = (theirs, nobodys) =>
  bytesOf(theirs) === bytesOf(nobodys)
    ? undefined
    : `is answered ${said(theirs)}, and one never issued ${said(nobodys)}`;

/** As if nobody had ever used it: what is answered is new, in the same form. */
export const unheardOf: Judge = (theirs, nobodys) =>
  outlineOf(theirs) === outlineOf(nobodys)
    ? undefined
    : `is answered ${said(theirs)}, and one never used ${said(nobodys)}`;

/** C13, C14: it belongs to another user of the account, and that is said. */
export const refused: Judge = (theirs) =>
  theirs.status === 401 && (theirs.text === '' || theirs.json.code === 'not_permitted')
    ? undefined
    : `is answered ${said(theirs)}, not 401 not_permitted`;

/** C2: what the account has in common, every user of it reads. */
export const shared: Judge = (theirs) => (theirs.status === 200 ? undefined : `is answered ${said(theirs)}, not 200`);

/** A mark of somebody else in what was answered, other than where it was said by the caller. */
export function markIn(mark: string, { headers, text }: Pick<Answer, 'headers' | 'text'>): boolean {
  return text.includes(mark) || [...headers].some(([, value]) => value.includes(mark));
}
