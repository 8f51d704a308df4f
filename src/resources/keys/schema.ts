import { type Expiry, parseExpiry } from '../../durations.ts';
import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import { createParser, type Field } from '../../http/fields/field.ts';
import { ownRecordId, readOnlyId, recordIdOrNone } from '../../http/fields/reference-fields.ts';
import {
  oneTimeSecret,
  plainText,
  readOnlyEnumList,
  readOnlyFlag,
  readOnlyText,
} from '../../http/fields/scalar-fields.ts';
import { isPermission, type Permission, permissions } from '../../permissions.ts';
import { idFilter } from '../core/filters.ts';

/** Response fields of a key; they never include its secret (X7). */
export const keyFields = {
  id: ownRecordId('Identifier of the key.'),
  user_id: readOnlyId('The user of the key.'),
  label: readOnlyText('Its label.'),
  permissions: readOnlyEnumList('Its permissions.', permissions, 'Permission'),
  date_created: readOnlyTimestamp('When it was issued, UTC.'),
  last_used: readOnlyTimestamp('When it was last used, UTC, to the minute.'),
  expires: readOnlyTimestamp('When it expires, UTC.'),
  revoked: readOnlyFlag('Whether it was revoked.'),
};

const MAX_PERMISSIONS = 100;
const PERMISSIONS_REQUIREMENT = `must be a list of permissions, of ${permissions.join(', ')}`;

const permissionsField: Field<readonly Permission[] | null, 'writable'> = {
  mode: 'writable',
  description: 'Its permissions; at most those of your own key. Default: all of them.',
  inputSchema: {
    type: 'array',
    items: { title: 'Permission', enum: permissions },
    maxItems: MAX_PERMISSIONS,
    'x-must': PERMISSIONS_REQUIREMENT,
  },
  parse: createParser(PERMISSIONS_REQUIREMENT, (value) =>
    Array.isArray(value) && value.length <= MAX_PERMISSIONS && value.every(isPermission)
      ? [...new Set(value)]
      : undefined,
  ),
  default: null,
  outputSchema: {},
  serialize: (storedValue) => storedValue,
};

const EXPIRY_REQUIREMENT = 'must be a duration such as 30d, or YYYY-MM-DD HH:MM:SS in UTC';

const expiresField: Field<Expiry, 'writable'> = {
  mode: 'writable',
  description: 'Expiry: a duration such as 30d or 12h, or YYYY-MM-DD HH:MM:SS in UTC. Default: that of your own key.',
  inputSchema: {
    type: ['string', 'null'],
    format: 'expiry',
    'x-must': EXPIRY_REQUIREMENT,
  },
  parse: createParser(EXPIRY_REQUIREMENT, parseExpiry),
  default: null,
  outputSchema: {},
  serialize: (storedValue) => storedValue,
};

/** Input fields of a new key. */
export const keyInputFields = {
  label: plainText('Its label.'),
  permissions: permissionsField,
  user_id: recordIdOrNone('The user of the key. Only admins may give another user.'),
  expires: expiresField,
};

/** Input fields of a change of a key. */
export const keyChangeFields = {
  label: keyInputFields.label,
  permissions: { ...permissionsField, description: 'The remaining permissions. None can be added.' },
};

/** Response fields of a new key, including its secret, which is returned only once. */
export const issuedKeyFields = {
  ...keyFields,
  key: oneTimeSecret('The key. It is returned only once and stored as a hash.'),
};

export const keyFilters = {
  user_id: idFilter('Only keys of this user. Admins see those of all users, others their own.', 'api_keys.user_id'),
};
