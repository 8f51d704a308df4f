import {
  createRecordSchema,
  type Fields,
  parseId,
  readOnlyField,
  type StoredRecordOf,
  serializeRecord,
  writableField,
} from './field.ts';
import { DIGITS_SCHEMA } from './scalar-fields.ts';

/** A field with the id of the record itself. */
export const ownRecordId = (description: string) => readOnlyField<number>(description, String, DIGITS_SCHEMA);

/** The id of another record, which the service writes; "0" for none. */
export const readOnlyId = (description: string) =>
  readOnlyField<number | null>(description, (id) => String(id ?? 0), DIGITS_SCHEMA);

/** The required id of another record. */
export const recordId = (description: string) =>
  writableField<number>(
    {
      description,
      inputSchema: { type: ['string', 'integer'], format: 'id', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      errorMessage: 'must be an id',
      parse: parseId,
      serialize: String,
      outputSchema: DIGITS_SCHEMA,
    },
    undefined,
  );

/** The id of another record; `"0"`, 0, `""` and null mean none (C26). */
export const recordIdOrNone = (description: string) =>
  writableField<number>(
    {
      description: `${description} "0" for none.`,
      inputSchema: {
        type: ['string', 'integer', 'null'],
        format: 'id-or-none',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
      },
      errorMessage: 'must be an id, or "0" for none',
      parse: (value) => (value === '' || value === null ? 0 : parseId(value)),
      serialize: String,
      outputSchema: DIGITS_SCHEMA,
    },
    0,
  );

/** A list of nested records with these fields, which the service writes. */
export const readOnlyRecords = <F extends Fields>(description: string, fields: F, title?: string) =>
  readOnlyField<readonly StoredRecordOf<F>[]>(description, (rows) => rows.map((row) => serializeRecord(fields, row)), {
    type: 'array',
    items: { ...(title === undefined ? {} : { title }), ...createRecordSchema(fields) },
  });
