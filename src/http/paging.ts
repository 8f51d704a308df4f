import type { JsonSchema } from './fields.ts';
import type { Parameter } from './query.ts';

/** The most records of one page (the specification's limit), and what is answered when none is asked for. */
export const MOST_RECORDS = 1_000;

export type Paging = { readonly offset: number; readonly limit: number };

/** One page of a list, and how many records there are in all. */
export type Page<Row> = { readonly rows: readonly Row[]; readonly total: number };

/** The two parameters that every list has. A larger limit is taken as the largest (C7). */
export const pagingParameters = {
  limit: {
    says: 'How many records to answer; more than 1000 is taken as 1000.',
    schema: { type: 'integer', minimum: 1, default: MOST_RECORDS },
    must: 'must be a whole number of at least 1',
    read(text) {
      const limit = readWhole(text);
      return limit === undefined || limit < 1 ? undefined : Math.min(limit, MOST_RECORDS);
    },
  },
  offset: {
    says: 'How many records to pass over.',
    schema: { type: 'integer', minimum: 0, default: 0 },
    must: 'must be a whole number of at least 0',
    read: readWhole,
  },
} as const satisfies Record<string, Parameter<number>>;

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
        type: 'object',
        required: ['offset', 'limit', 'total_records'],
        properties: { offset: count, limit: count, total_records: count },
      },
      data: { type: 'array', items: record },
    },
  };
}

/** The schema of one record's answer. */
export function recordSchema(record: JsonSchema): JsonSchema {
  return { type: 'object', required: ['data'], properties: { data: record } };
}
