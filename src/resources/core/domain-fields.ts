import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import { type Field, parseId, readOnlyField, writableField } from '../../http/fields/field.ts';
import { recordIdOrNone } from '../../http/fields/reference-fields.ts';
import {
  createEnumSchema,
  DIGITS_SCHEMA,
  FLAG_SCHEMA,
  FLAG_VALUES,
  integer,
  parseDecimal,
  parseFlag,
  STRING_SCHEMA,
} from '../../http/fields/scalar-fields.ts';
import { isRole, type Role } from '../../permissions.ts';

/** Fields that most resources end with: creation time, modification time and owner. */
export const commonFields = {
  date_created: readOnlyTimestamp('When it was created, UTC.'),
  date_modified: readOnlyTimestamp('When it was last modified, UTC.'),
  user_id: recordIdOrNone('The user who created it. Only admins may give another user.'),
};

/** A field that returns the seconds of another field as hours, rounded to four decimals. */
export const hoursFromSeconds = (sourceField: string, description: string): Field<number | null, 'derived'> => ({
  ...readOnlyField<number | null>(description, (seconds) => Math.round((seconds ?? 0) / 0.36) / 10_000, {
    type: 'number',
  }),
  mode: 'derived',
  derivedFrom: sourceField,
});

/** The state of a record: 1 is active, 0 is inactive, 2 is on hold. */
export const activeState = () =>
  writableField<number>(
    {
      description: '1 active, 0 inactive, 2 on hold.',
      inputSchema: { title: 'ActiveStateInput', enum: [...FLAG_VALUES, '2', 2] },
      errorMessage: 'must be 0, 1 or 2',
      parse: (value) => (value === '2' || value === 2 ? 2 : parseFlag(value)),
      serialize: String,
      outputSchema: createEnumSchema(['0', '1', '2'], 'ActiveState'),
    },
    1,
  );

const MAX_SORT_POSITION = 9_999_999_999_999;

/** The sort position of a record: an integer below 10^13, so that clients can use a timestamp in milliseconds (C42). */
export const sortPosition = (description: string) => integer(description, MAX_SORT_POSITION);

/** Whether a value of a `fixedPrice` field is an amount rather than a flag. */
const isAmount = (value: unknown) => !FLAG_VALUES.includes(value) && Number(value) !== 0;

/**
 * A flag for a fixed price. An amount sets the flag and is stored in `price`, because existing clients send the price
 * in this field (C42).
 */
export const fixedPrice = (description: string): Field<number, 'writable'> => ({
  ...writableField<number>(
    {
      description: `${description} An amount other than 0 and 1 sets the flag and becomes the price.`,
      inputSchema: {
        type: ['string', 'number', 'boolean'],
        format: 'decimal',
        minimum: 0,
        exclusiveMaximum: 1e9,
      },
      errorMessage: 'must be 0, 1, or an amount from 0 to 999999999.9999 with at most four decimals',
      parse(value) {
        if (FLAG_VALUES.includes(value)) return parseFlag(value);
        return parseDecimal(value) === undefined ? undefined : Number(isAmount(value));
      },
      serialize: String,
      outputSchema: FLAG_SCHEMA,
    },
    0,
  ),
  implies: (value) => (isAmount(value) ? { price: parseDecimal(value) } : undefined),
});

/** A reference to another record by its id and name, such as `user_id` and `user_name`. */
type RecordReference<N extends string> = { readonly [K in `${N}_id`]: number } & {
  readonly [K in `${N}_name`]: string;
};

export type AssignedUser = RecordReference<'user'>;
export type AssignedTeam = RecordReference<'team'>;

/** Maximum number of records that a field refers to. */
const MAX_REFERENCES = 1_000;

/** A field with references to other records. Accepts a list of ids, or its own output: `[{ …_id, …_name }]`. */
function recordReferences<N extends 'user' | 'team'>(
  resourceType: N,
  description: string,
): Field<readonly RecordReference<N>[], 'writable'> {
  const [idKey, nameKey] = [`${resourceType}_id`, `${resourceType}_name`];
  const titleNoun = resourceType === 'user' ? 'User' : 'Team';
  const idSchema = { format: 'id', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
  const parseItemId = (item: unknown) =>
    parseId(typeof item === 'object' && item !== null ? Reflect.get(item, idKey) : item);
  return writableField<readonly RecordReference<N>[]>(
    {
      description,
      inputSchema: {
        type: 'array',
        maxItems: MAX_REFERENCES,
        items: {
          title: `${titleNoun}Reference`,
          type: ['string', 'integer', 'object'],
          ...idSchema,
          required: [idKey],
          properties: { [idKey]: { type: ['string', 'integer'], ...idSchema } },
        },
      },
      errorMessage: `must be a list of ${resourceType} ids`,
      parse(value) {
        if (!Array.isArray(value) || value.length > MAX_REFERENCES) return undefined;
        const ids = new Set(value.map(parseItemId));
        if (ids.has(undefined)) return undefined;
        return [...ids].map((recordId) => ({ [idKey]: recordId, [nameKey]: '' })) as unknown as RecordReference<N>[];
      },
      serialize: (references) =>
        references.map((reference) => ({
          [idKey]: String(Reflect.get(reference, idKey)),
          [nameKey]: Reflect.get(reference, nameKey),
        })),
      outputSchema: {
        type: 'array',
        items: {
          title: `Assigned${titleNoun}`,
          type: 'object',
          required: [idKey, nameKey],
          properties: { [idKey]: DIGITS_SCHEMA, [nameKey]: STRING_SCHEMA },
        },
      },
    },
    [],
  );
}

/** A field with the users that are assigned to the record. */
export const assignedUsers = (description: string) => recordReferences('user', description);

/** A field with the teams that are assigned to the record. */
export const assignedTeams = (description: string) => recordReferences('team', description);

/** The role of a user in the account. */
export const role = (description: string): Field<Role, 'writable'> =>
  writableField<Role>(
    {
      description,
      inputSchema: { title: 'Role', enum: ['member', 'admin', 'owner'] },
      errorMessage: 'must be member, admin or owner',
      parse: (value) => (typeof value === 'string' && isRole(value) ? value : undefined),
      serialize: (stored) => stored,
      outputSchema: createEnumSchema(['member', 'admin', 'owner'], 'Role'),
    },
    'member',
  );
