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
  user_id: readOnlyId('Whose key it is.'),
  label: readOnlyText('What it is for.'),
  permissions: readOnlyList('What it may do.', permissions, 'Permission'),
  date_created: readOnlyTimestamp('When it was issued, UTC.'),
  last_used: readOnlyTimestamp('When it was last used, UTC, to the minute.'),
  expires: readOnlyTimestamp('When it ends by itself, UTC.'),
  revoked: readOnlyFlag('It has been revoked.'),
};

const permissionList: Field<readonly Permission[] | null, 'written'> = {
  mode: 'written',
  description: 'What it may do; never more than your own key. Left out: all of that.',
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
  description:
    'When it ends: a duration such as 30d or 12h, or YYYY-MM-DD HH:MM:SS in UTC. Left out: when your own key does.',
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
  label: label('What it is for.'),
  permissions: permissionList,
  user_id: resourceIdOrNone('Whose key it is to be; only admins may name another user.'),
  expires,
};

/** Input fields of a change. */
export const keyChangeFields = {
  label: keyInputFields.label,
  permissions: { ...permissionList, description: 'What it may do from now on; only ever fewer than before.' },
};

/** Response fields of a new key, including its secret, which is returned only once. */
export const issuedKeyFields = {
  ...keyFields,
  key: secretOnce('The key itself. It is shown this once and stored as a hash.'),
};

export const keyFilters = {
  user_id: idFilter('Of this user; admins see the keys of all, others their own.', 'api_keys.user_id'),
};
