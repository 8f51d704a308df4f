import type { JsonSchema } from '../fields/field.ts';
import type { Parameter } from './query-parameters.ts';

/** The most records of one page (the specification's limit), and what is answered when none is asked for. */
export const MAX_RECORDS = 1_000;

/** `after`: begins behind the record that this stands for, wherever that is; the offset says no more than how many came before. */
export type Paging = { readonly offset: number; readonly limit: number; readonly after?: string | undefined };

/** Records of a page that are loaded together. */
export type Slice<Row> = {
  readonly rows: readonly Row[];
  /** What a page begins `after` that goes on behind the row at this index. */
  readonly cursorAfter: (index: number) => string;
};

/** The slices of a page: all of them already loaded, or one after the other while they are read. */
export type Slices<Row> = readonly Slice<Row>[] | AsyncIterable<Slice<Row>>;

/**
 * One page of a list, and how many records there are in all. It is read slice by slice, so that nothing is loaded that
 * has no room in the answer. `next`: what the page behind it begins `after`, if there is one.
 */
export type Page<Row> = {
  readonly slices: Slices<Row>;
  /** It is known to have more than one slice: nothing of it is loaded before it has a slot (see `LargePages`). */
  readonly isLarge?: boolean;
  readonly total: number;
  readonly next?: string | undefined;
};

/** The parameters that every list has. A larger limit is taken as the largest (C7). */
export const pagingParameters = {
  limit: {
    description: 'How many records to answer; more than 1000 is taken as 1000.',
    schema: { type: 'integer', minimum: 1, default: MAX_RECORDS },
    errorMessage: 'must be a whole number of at least 1',
    read(text) {
      const limit = readWhole(text);
      return limit === undefined || limit < 1 ? undefined : Math.min(limit, MAX_RECORDS);
    },
  },
  offset: {
    description: 'How many records to pass over.',
    schema: { type: 'integer', minimum: 0, default: 0 },
    errorMessage: 'must be a whole number of at least 0',
    read: readWhole,
  },
  after: {
    description:
      'Where the page begins, as the `Link` of the page before has it: right behind the last record of that one, however much came or went meanwhile.',
    schema: { type: 'string', minLength: 1, maxLength: 4_000 },
    errorMessage: 'must be as the Link of a page has it',
    read: (text) => (/^[\w-]{1,4000}$/.test(text) ? text : undefined),
  },
} as const satisfies Record<string, Parameter<number> | Parameter<string>>;

function readWhole(text: string): number | undefined {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  // A limit beyond every number is still only larger than the largest.
  return /^\d+$/.test(text) ? Number.MAX_SAFE_INTEGER : undefined;
}

/** The schema of a list's answer. */
export function listSchema(record: JsonSchema): JsonSchema {
  const count = { type: 'integer', minimum: 0 };
  return {
    type: 'object',
    required: ['paging', 'data'],
    properties: {
      paging: {
        title: 'Paging',
        type: 'object',
        required: ['offset', 'limit', 'total_records'],
        properties: {
          offset: count,
          limit: { type: 'integer', minimum: 1, maximum: MAX_RECORDS },
          total_records: count,
        },
      },
      data: { type: 'array', items: record },
    },
  };
}

/** The schema of one record's answer. */
export function recordSchema(record: JsonSchema): JsonSchema {
  return { type: 'object', required: ['data'], properties: { data: record } };
}
