import { isStorable } from '../../control-characters.ts';
import { type FieldError, invalidInput } from '../../problems.ts';
import { parseCompactDay } from '../fields/dates.ts';
import { type JsonSchema, parseId } from '../fields/field.ts';
import { isValidText } from '../fields/scalar-fields.ts';

/** A query parameter: its schema and its parser. */
export type QueryParameter<T> = {
  readonly description: string;
  readonly schema: JsonSchema;
  /** The error message for an invalid value, such as `must be an id`. */
  readonly errorMessage: string;
  /** Parses the text; undefined if it is invalid. */
  parse(text: string): T | undefined;
};

export type QueryParameters = { readonly [name: string]: QueryParameter<unknown> };

type ValueOf<P> = P extends QueryParameter<infer T> ? T : never;

/** The parsed values of the parameters that a query string contains. */
export type ParsedParameters<P extends QueryParameters> = { [K in keyof P]?: ValueOf<P[K]> };

/** The values of a query string by name; null for a value that is not valid UTF-8. */
export type RawQuery = Readonly<Record<string, readonly (string | null)[] | undefined>>;

/** Parses a query string. Names that cannot be decoded are ignored, like all unknown ones. */
export function decodeQuery(query: string): RawQuery {
  const valuesByName: Record<string, (string | null)[]> = Object.create(null);
  if (query === '') return valuesByName;
  for (const pair of query.split('&')) {
    const equalsIndex = pair.indexOf('=');
    const name = decodeComponent(equalsIndex < 0 ? pair : pair.slice(0, equalsIndex));
    if (name === null) continue;
    valuesByName[name] ??= [];
    valuesByName[name].push(equalsIndex < 0 ? '' : decodeComponent(pair.slice(equalsIndex + 1)));
  }
  return valuesByName;
}

function decodeComponent(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/**
 * Parses the known parameters of a query string; unknown parameters are ignored. Throws `invalid_input` with all
 * invalid and all repeated parameters (C4).
 */
export function parseQueryParameters<P extends QueryParameters>(
  parameters: P,
  rawQuery: RawQuery,
): ParsedParameters<P> {
  const parsedValues: Record<string, unknown> = {};
  const errors: FieldError[] = [];
  for (const field in parameters) {
    const [text, ...repeatedTexts] = rawQuery[field] ?? [];
    const parameter = parameters[field];
    if (text === undefined || parameter === undefined) continue;
    const isParsable = text !== null && repeatedTexts.length === 0 && isStorable(text);
    const value = isParsable ? parameter.parse(text) : undefined;
    if (value !== undefined) parsedValues[field] = value;
    else if (repeatedTexts.length > 0) errors.push({ field, message: 'must be given once' });
    else errors.push({ field, message: text === null ? 'must be UTF-8, percent-encoded' : parameter.errorMessage });
  }
  if (errors.length > 0) throw invalidInput(errors);
  return parsedValues as ParsedParameters<P>;
}

export const idParameter = (description: string): QueryParameter<number> => ({
  description,
  schema: { type: 'string', pattern: '^\\d+$' },
  errorMessage: 'must be an id',
  parse: parseId,
});

/** A parameter for a day, written yyyymmdd and parsed to `YYYY-MM-DD`. */
export const dayParameter = (description: string): QueryParameter<string> => ({
  description,
  schema: { type: 'string', pattern: '^\\d{8}$' },
  errorMessage: 'must be a real calendar day written yyyymmdd',
  parse: parseCompactDay,
});

/** A parameter for a text of 1 to 255 characters. */
export const textParameter = (description: string): QueryParameter<string> => ({
  description,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  errorMessage: 'must be a text of 1 to 255 characters',
  parse: (text) => (isValidText(text, 1, 255) ? text.trim() : undefined),
});

/** A parameter for one of several values. */
export function enumParameter<W extends string>(description: string, words: readonly W[]): QueryParameter<W> {
  return {
    description,
    schema: { type: 'string', enum: words },
    errorMessage: `must be one of ${words.join(', ')}`,
    parse: (text) => words.find((word) => word === text),
  };
}
