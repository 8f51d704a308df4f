import type { JsonSchema } from '../fields/field.ts';
import type { QueryParameter } from './query-parameters.ts';

/** Maximum and default number of records of a page (limit of the specification). */
export const MAX_RECORDS_PER_PAGE = 1_000;

/**
 * The page that a request asks for. With a cursor in `after` (keyset pagination), the page begins after the record of
 * the cursor, and `offset` is only informative.
 */
export type PageRequest = { readonly offset: number; readonly limit: number; readonly after?: string | undefined };

/** Records of a page that are loaded together. */
export type PageSlice<Row> = {
  readonly rows: readonly Row[];
  /** Returns the cursor of the row at this index. A page that is requested with this cursor begins after the row. */
  readonly cursorAfter: (index: number) => string;
};

/** The slices of a page: all loaded, or loaded one after the other while they are iterated. */
export type PageSlices<Row> = readonly PageSlice<Row>[] | AsyncIterable<PageSlice<Row>>;

/**
 * One page of a list, and the total number of records. Slices are loaded on demand, so that loading stops when the
 * response is full. `next` is the cursor for the next page, if there is one.
 */
export type Page<Row> = {
  readonly slices: PageSlices<Row>;
  /** Whether the page has more than one slice. Such a page needs a permit before it is loaded (see `createLargePageSemaphore`). */
  readonly isLarge?: boolean;
  /** Number of records on all pages. */
  readonly total: number;
  /** The cursor for the next page; undefined on the last page. */
  readonly next?: string | undefined;
};

/** The parameters of every list. A limit above MAX_RECORDS_PER_PAGE is clamped (C7). */
export const pagingParameters = {
  limit: {
    description: 'Maximum number of records to return; values above 1000 are treated as 1000.',
    schema: { type: 'integer', minimum: 1, default: MAX_RECORDS_PER_PAGE },
    errorMessage: 'must be a whole number of at least 1',
    parse(text) {
      const limit = parseWholeNumber(text);
      return limit === undefined || limit < 1 ? undefined : Math.min(limit, MAX_RECORDS_PER_PAGE);
    },
  },
  offset: {
    description: 'Number of records to skip.',
    schema: { type: 'integer', minimum: 0, default: 0 },
    errorMessage: 'must be a whole number of at least 0',
    parse: parseWholeNumber,
  },
  after: {
    description:
      'Cursor from the `Link` header of the previous page: the page begins right after the last record of that page, even if records were added or removed in the meantime.',
    schema: { type: 'string', minLength: 1, maxLength: 4_000 },
    errorMessage: 'must be a cursor from the Link header of a page',
    parse: (text) => (/^[\w-]{1,4000}$/.test(text) ? text : undefined),
  },
} as const satisfies Record<string, QueryParameter<number> | QueryParameter<string>>;

function parseWholeNumber(text: string): number | undefined {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  // A number beyond the safe integers is clamped like any other large number.
  return /^\d+$/.test(text) ? Number.MAX_SAFE_INTEGER : undefined;
}

/** Creates the schema of a list response. */
export function createListResponseSchema(recordSchema: JsonSchema): JsonSchema {
  const countSchema = { type: 'integer', minimum: 0 };
  return {
    type: 'object',
    required: ['paging', 'data'],
    properties: {
      paging: {
        title: 'Paging',
        type: 'object',
        required: ['offset', 'limit', 'total_records'],
        properties: {
          offset: countSchema,
          limit: { type: 'integer', minimum: 1, maximum: MAX_RECORDS_PER_PAGE },
          total_records: countSchema,
        },
      },
      data: { type: 'array', items: recordSchema },
    },
  };
}

/** Creates the schema of a response with one record. */
export function createRecordResponseSchema(recordSchema: JsonSchema): JsonSchema {
  return { type: 'object', required: ['data'], properties: { data: recordSchema } };
}
