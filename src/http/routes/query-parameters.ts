import { isStorable } from '../../control-characters.ts';
import { type FieldError, invalidInput } from '../../problems.ts';
import { parseDay } from '../fields/dates.ts';
import type { JsonSchema } from '../fields/field.ts';
import { parseId } from '../fields/ids.ts';
import { isText } from '../fields/validate-body.ts';

/** One query parameter: what is accepted, and how it is read. */
export type Parameter<T> = {
  readonly description: string;
  readonly schema: JsonSchema;
  /** What a value must be, in words. */
  readonly errorMessage: string;
  /** The value, or undefined if the text is none. */
  read(text: string): T | undefined;
};

export type Parameters = { readonly [name: string]: Parameter<unknown> };

type ValueOf<P> = P extends Parameter<infer T> ? T : never;

/** The parameters that were given, read. */
export type Given<P extends Parameters> = { [K in keyof P]?: ValueOf<P[K]> };

/** What stands in a query: each text that a name was given; null for what is not UTF-8. */
export type RawQuery = Readonly<Record<string, readonly (string | null)[] | undefined>>;

/** Takes a query apart. A name that cannot be read is none that is known here. */
export function parseQuery(query: string): RawQuery {
  const found: Record<string, (string | null)[]> = Object.create(null);
  if (query === '') return found;
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=');
    const name = decoded(equals < 0 ? pair : pair.slice(0, equals));
    if (name === null) continue;
    found[name] ??= [];
    found[name].push(equals < 0 ? '' : decoded(pair.slice(equals + 1)));
  }
  return found;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/**
 * Reads the known parameters of a query; unknown ones are ignored, a known one given twice is refused (C4).
 * Every bad one is named at once.
 */
export function readQuery<P extends Parameters>(parameters: P, raw: RawQuery): Given<P> {
  const given: Record<string, unknown> = {};
  const errors: FieldError[] = [];
  for (const field in parameters) {
    const [text, ...more] = raw[field] ?? [];
    const parameter = parameters[field];
    if (text === undefined || parameter === undefined) continue;
    const isReadable = text !== null && more.length === 0 && isStorable(text);
    const value = isReadable ? parameter.read(text) : undefined;
    if (value !== undefined) given[field] = value;
    else if (more.length > 0) errors.push({ field, message: 'must be given once' });
    else errors.push({ field, message: text === null ? 'must be UTF-8, percent-encoded' : parameter.errorMessage });
  }
  if (errors.length > 0) throw invalidInput(errors);
  return given as Given<P>;
}

/** An id. */
export const idParameter = (says: string): Parameter<number> => ({
  description: says,
  schema: { type: 'string', pattern: '^\\d+$' },
  errorMessage: 'must be an id',
  read: parseId,
});

/** A day, written yyyymmdd; read as `YYYY-MM-DD`. */
export const dayParameter = (says: string): Parameter<string> => ({
  description: says,
  schema: { type: 'string', pattern: '^\\d{8}$' },
  errorMessage: 'must be a real calendar day written yyyymmdd',
  read: parseDay,
});

/** A text of 1 to 255 characters. */
export const textParameter = (says: string): Parameter<string> => ({
  description: says,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  errorMessage: 'must be a text of 1 to 255 characters',
  read: (text) => (isText(text, 1, 255) ? text.trim() : undefined),
});

/** One of a few words. */
export function wordParameter<W extends string>(says: string, words: readonly W[]): Parameter<W> {
  return {
    description: says,
    schema: { type: 'string', enum: words },
    errorMessage: `must be one of ${words.join(', ')}`,
    read: (text) => words.find((word) => word === text),
  };
}
