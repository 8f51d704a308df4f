import { type FieldError, invalidInput } from '../problems.ts';
import { isText } from './body.ts';
import { parseDay } from './dates.ts';
import type { JsonSchema } from './fields.ts';
import { parseId } from './ids.ts';

/** One query parameter: what is accepted, and how it is read. */
export type Parameter<T> = {
  readonly says: string;
  readonly schema: JsonSchema;
  /** What a value must be, in words. */
  readonly must: string;
  /** The value, or undefined if the text is none. */
  read(text: string): T | undefined;
};

export type Parameters = { readonly [name: string]: Parameter<unknown> };

type ValueOf<P> = P extends Parameter<infer T> ? T : never;

/** The parameters that were given, read. */
export type Given<P extends Parameters> = { [K in keyof P]?: ValueOf<P[K]> };

/** What the framework's query parser gives: a text, or a list of texts where a parameter stands more than once. */
export type RawQuery = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Reads the known parameters of a query; unknown ones are ignored, a known one given twice is refused (C4).
 * Every bad one is named at once.
 */
export function readQuery<P extends Parameters>(parameters: P, raw: RawQuery): Given<P> {
  const given: Record<string, unknown> = {};
  const errors: FieldError[] = [];
  for (const field in parameters) {
    const written = raw[field];
    const parameter = parameters[field];
    if (written === undefined || parameter === undefined) continue;
    const value = typeof written === 'string' ? parameter.read(written) : undefined;
    if (value !== undefined) given[field] = value;
    else errors.push({ field, message: typeof written === 'string' ? parameter.must : 'must be given once' });
  }
  if (errors.length > 0) throw invalidInput(errors);
  return given as Given<P>;
}

/** An id. */
export const idParameter = (says: string): Parameter<number> => ({
  says,
  schema: { type: 'string', pattern: '^\\d+$' },
  must: 'must be an id',
  read: parseId,
});

/** A day, written yyyymmdd; read as `YYYY-MM-DD`. */
export const dayParameter = (says: string): Parameter<string> => ({
  says,
  schema: { type: 'string', pattern: '^\\d{8}$' },
  must: 'must be a real calendar day written yyyymmdd',
  read: parseDay,
});

/** A text of 1 to 255 characters. */
export const textParameter = (says: string): Parameter<string> => ({
  says,
  schema: { type: 'string' },
  must: 'must be a text of 1 to 255 characters',
  read: (text) => (isText(text, 1, 255) ? text.trim() : undefined),
});

/** One of a few words. */
export function wordParameter<W extends string>(says: string, words: readonly W[]): Parameter<W> {
  return {
    says,
    schema: { type: 'string', enum: words },
    must: `must be one of ${words.join(', ')}`,
    read: (text) => words.find((word) => word === text),
  };
}
