import { type Expiry, parseExpiry } from '../../durations.ts';
import type { Field } from '../../http/fields/field.ts';
import {
  key,
  label,
  readOnlyFlag,
  readOnlyId,
  readOnlyList,
  readOnlyText,
  readOnlyTimestamp,
  resourceIdOrNone,
  secretOnce,
} from '../../http/fields/field-types.ts';
import { isPermission, type Permission, permissions } from '../../permissions.ts';
import { idFilter } from '../core/filters.ts';

/** Response fields of a key; they never include its secret (X7). */
export const keyFields = {
  id: key('Identifier of the key.'),
  user_id: readOnlyId('The user of the key.'),
  label: readOnlyText('Its label.'),
  permissions: readOnlyList('Its permissions.', permissions, 'Permission'),
  date_created: readOnlyTimestamp('When it was issued, UTC.'),
  last_used: readOnlyTimestamp('When it was last used, UTC, to the minute.'),
  expires: readOnlyTimestamp('When it expires, UTC.'),
  revoked: readOnlyFlag('Whether it was revoked.'),
};

const permissionList: Field<readonly Permission[] | null, 'written'> = {
  mode: 'written',
  description: 'Its permissions; at most those of your own key. Default: all of them.',
  inputSchema: {
    type: 'array',
    items: { title: 'Permission', enum: permissions },
    maxItems: 100,
    'x-must': `must be a list of permissions, of ${permissions.join(', ')}`,
  },
  parse: (value) => [...new Set((value as readonly string[]).filter(isPermission))],
  default: null,
  outputSchema: {},
  serialize: (stored) => stored,
};

const expires: Field<Expiry, 'written'> = {
  mode: 'written',
  description: 'Expiry: a duration such as 30d or 12h, or YYYY-MM-DD HH:MM:SS in UTC. Default: that of your own key.',
  inputSchema: {
    type: ['string', 'null'],
    format: 'expiry',
    'x-must': 'must be a duration such as 30d, or YYYY-MM-DD HH:MM:SS in UTC',
  },
  parse: (value) => parseExpiry(value) ?? null,
  default: null,
  outputSchema: {},
  serialize: (stored) => stored,
};

/** Input fields of a new key. */
export const keyInputFields = {
  label: label('Its label.'),
  permissions: permissionList,
  user_id: resourceIdOrNone('The user of the key. Only admins may give another user.'),
  expires,
};

/** Input fields of a change. */
export const keyChangeFields = {
  label: keyInputFields.label,
  permissions: { ...permissionList, description: 'The remaining permissions. None can be added.' },
};

/** Response fields of a new key, including its secret, which is returned only once. */
export const issuedKeyFields = {
  ...keyFields,
  key: secretOnce('The key. It is returned only once and stored as a hash.'),
};

export const keyFilters = {
  user_id: idFilter('Only keys of this user. Admins see those of all users, others their own.', 'api_keys.user_id'),
};
