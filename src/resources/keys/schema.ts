import { isPermission, type Permission, permissions } from '../../access.ts';
import { type Expiry, parseExpiry } from '../../durations.ts';
import type { Field } from '../../http/field.ts';
import {
  key,
  label,
  referenceOrNone,
  shownFlag,
  shownId,
  shownList,
  shownMoment,
  shownOnce,
  shownText,
} from '../../http/fields.ts';
import { idFilter } from '../filters.ts';

/** An API key as it is listed; never its secret (X7). */
export const keyFields = {
  id: key('Identifier of the key.'),
  user_id: shownId('Whose key it is.'),
  label: shownText('What it is for.'),
  permissions: shownList('What it may do.', permissions, 'Permission'),
  date_created: shownMoment('When it was issued, UTC.'),
  last_used: shownMoment('When it was last used, UTC, to the minute.'),
  expires: shownMoment('When it ends by itself, UTC.'),
  revoked: shownFlag('It has been revoked.'),
};

const permissionList: Field<readonly Permission[] | null, 'written'> = {
  mode: 'written',
  says: 'What it may do; never more than your own key. Left out: all of that.',
  accepts: {
    type: 'array',
    items: { title: 'Permission', enum: permissions },
    maxItems: 100,
    'x-must': `must be a list of permissions, of ${permissions.join(', ')}`,
  },
  parse: (value) => [...new Set((value as readonly string[]).filter(isPermission))],
  initial: null,
  answers: {},
  show: (stored) => stored,
};

const expires: Field<Expiry, 'written'> = {
  mode: 'written',
  says: 'When it ends: a duration such as 30d or 12h, or YYYY-MM-DD HH:MM:SS in UTC. Left out: when your own key does.',
  accepts: {
    type: ['string', 'null'],
    format: 'expiry',
    'x-must': 'must be a duration such as 30d, or YYYY-MM-DD HH:MM:SS in UTC',
  },
  parse: (value) => parseExpiry(value) ?? null,
  initial: null,
  answers: {},
  show: (stored) => stored,
};

/** What issuing a key takes. */
export const keyInputFields = {
  label: label('What it is for.'),
  permissions: permissionList,
  user_id: referenceOrNone('Whose key it is to be; only admins may name another user.'),
  expires,
};

/** What can be changed of a key that was issued. */
export const keyChangeFields = {
  label: keyInputFields.label,
  permissions: { ...permissionList, says: 'What it may do from now on; only ever fewer than before.' },
};

/** What issuing a key answers: the secret, this once. */
export const issuedKeyFields = {
  ...keyFields,
  key: shownOnce('The key itself. It is shown this once and stored as a hash.'),
};

export const keyFilters = {
  user_id: idFilter('Of this user; admins see the keys of all, others their own.', 'api_keys.user_id'),
};
