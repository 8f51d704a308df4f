import { writeAuditEntries } from '../../audit/actions.ts';
import { computeExpiryTimestamp } from '../../durations.ts';
import { formatTimestamp } from '../../http/fields/dates.ts';
import type { ChangeInput, CreationInput, StoredRecordOf } from '../../http/fields/field.ts';
import {
  defineCreateRoute,
  defineDeleteRoute,
  defineGetRoute,
  defineListRoute,
  defineUpdateRoute,
} from '../../http/routes/define-routes.ts';
import { mapRows, type Page, type PageRequest } from '../../http/routes/pagination.ts';
import type { ParsedParameters } from '../../http/routes/query-parameters.ts';
import type { Route } from '../../http/routes/route.ts';
import {
  type Caller,
  isAdmin,
  isPermission,
  outranks,
  type Permission,
  permissions,
  permissionsOf,
} from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import { hashApiKey, newApiKey, type Random } from '../../secrets.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { buildFilterConditions } from '../core/filters.ts';
import { loadPage } from '../core/pagination.ts';
import { ascendingOrder, numberKey } from '../core/sorting.ts';
import { requireManageable, requireVisible } from '../users/lookup.ts';
import { getUser } from '../users/users.ts';
import { issuedKeyFields, keyChangeFields, keyFields, keyFilters, keyInputFields } from './schema.ts';

type KeyRow = StoredRecordOf<typeof keyFields>;
type IssuedKeyRow = StoredRecordOf<typeof issuedKeyFields>;

type StoredKey = {
  key_id: number;
  user_id: number;
  label: string;
  permissions: string;
  date_created: number;
  last_used: number | null;
  expires_at: number | null;
  revoked_at: number | null;
};

function toKeyRow(row: StoredKey): KeyRow {
  const { key_id: id, expires_at: expires, revoked_at, permissions, ...rest } = row;
  return {
    ...rest,
    id,
    expires,
    permissions: permissions.split(',').filter((permission) => permission !== ''),
    revoked: revoked_at !== null,
  };
}

const orderById = ascendingOrder('id', numberKey('api_keys.key_id'));

/** Lists the keys of the caller. Admins see the keys of all users of the account (X7). */
async function listKeys(
  view: AccountView,
  caller: Caller,
  parameterValues: ParsedParameters<typeof keyFilters>,
  paging: PageRequest,
): Promise<Page<KeyRow>> {
  const visibleKeysQuery = isAdmin(caller)
    ? view.selectFrom('api_keys')
    : view.selectFrom('api_keys').where('api_keys.user_id', '=', caller.userId);
  const page = await loadPage(
    visibleKeysQuery,
    visibleKeysQuery.selectAll('api_keys'),
    orderById,
    buildFilterConditions(keyFilters, parameterValues),
    paging,
  );
  return mapRows(page, toKeyRow);
}

/** Returns a key that the caller may see; otherwise throws 404. */
async function getKey(view: AccountView, caller: Caller, keyId: number): Promise<KeyRow> {
  const row = await view
    .selectFrom('api_keys')
    .selectAll('api_keys')
    .where('api_keys.key_id', '=', keyId)
    .executeTakeFirst();
  return toKeyRow(requireVisible(row, caller));
}

/** Issues a key (X7). It never has more permissions or a later expiry than the caller's own key. */
async function issueKey(
  write: AccountWrite,
  caller: Caller,
  input: CreationInput<typeof keyInputFields>,
  random: Random,
): Promise<IssuedKeyRow> {
  const userId = input.user_id === 0 ? caller.userId : input.user_id;
  if (userId !== caller.userId && !isAdmin(caller)) {
    throw new Problem('not_permitted', { detail: 'Only admins may issue keys to another user.' });
  }
  const user = await getUser(write, userId);
  if (outranks(user.role, caller.role)) {
    throw new Problem('not_permitted', {
      detail: 'You cannot issue a key to a user whose role is above your own.',
    });
  }
  const grantablePermissions = permissionsOf(user.role).filter((permission) => caller.permissions.has(permission));
  const requestedPermissions = input.permissions ?? grantablePermissions;
  const excessPermission = requestedPermissions.find((permission) => !grantablePermissions.includes(permission));
  if (excessPermission !== undefined)
    throw new Problem('not_permitted', {
      detail: `Your own key, or the user, does not have ${excessPermission}.`,
    });
  const expiresAt = computeExpiryTimestamp(input.expires, write.now) ?? caller.expiresAt;
  if (caller.expiresAt !== null && (expiresAt === null || expiresAt > caller.expiresAt)) {
    throw new Problem('not_permitted', { detail: 'A key must not outlive the key that issues it.' });
  }
  return insertKey(write, { userId, label: input.label, permissions: requestedPermissions, expiresAt }, random);
}

/** Issues a key without a permission check; used by the command line and by `issueKey`. */
export async function insertKey(
  write: AccountWrite,
  input: { userId: number; label: string; permissions: readonly Permission[]; expiresAt: number | null },
  random: Random,
): Promise<IssuedKeyRow> {
  const apiKey = newApiKey(random);
  const row = await write.insertRow('api_keys', {
    user_id: input.userId,
    key_hash: hashApiKey(apiKey),
    label: input.label,
    // Permissions are stored in the order of the permission table, so that equal sets are stored as equal text.
    permissions: permissions.filter((permission) => input.permissions.includes(permission)).join(','),
    date_created: write.now,
    last_used: null,
    expires_at: input.expiresAt,
    revoked_at: null,
  });
  writeAuditEntries(write, {
    action: 'key.issued',
    subject: `key ${row.key_id}`,
    detail: { user_id: String(row.user_id), permissions: row.permissions, expires: formatTimestamp(row.expires_at) },
  });
  return { ...toKeyRow(row), key: apiKey };
}

/** Revokes a key. Throws 404 if it is already revoked. Hooks are not affected (C23). */
async function revokeKey(write: AccountWrite, caller: Caller, keyId: number): Promise<void> {
  await requireManageableKey(write, caller, keyId);
  await revokeLiveKey(write, keyId);
}

/** Renames a key or removes permissions from it, effective immediately (X7). Permissions are never added. */
async function changeKey(
  write: AccountWrite,
  caller: Caller,
  keyId: number,
  changes: ChangeInput<typeof keyChangeFields>,
): Promise<KeyRow> {
  const row = await requireManageableKey(write, caller, keyId);
  const currentPermissions = row.permissions.split(',').filter(isPermission);
  const requestedPermissions = changes.permissions ?? currentPermissions;
  const excessPermission = requestedPermissions.find((permission) => !currentPermissions.includes(permission));
  if (excessPermission !== undefined)
    throw new Problem('not_permitted', {
      detail: `Permissions cannot be added to a key, and this one does not have ${excessPermission}.`,
    });
  const narrowedPermissions = permissions.filter((permission) => requestedPermissions.includes(permission)).join(',');
  await write
    .updateTable('api_keys')
    .set({ label: changes.label ?? row.label, permissions: narrowedPermissions })
    .where('key_id', '=', keyId)
    .execute();
  if (requestedPermissions.length < currentPermissions.length) {
    write.markAccessChange();
    writeAuditEntries(write, {
      action: 'key.narrowed',
      subject: `key ${keyId}`,
      detail: { permissions: narrowedPermissions },
    });
  }
  return getKey(write, caller, keyId);
}

/**
 * Finds a live key that the caller may manage: their own key, or, for admins, a key of a user whose role is not above
 * theirs.
 */
async function requireManageableKey(write: AccountWrite, caller: Caller, keyId: number) {
  const row = await write
    .selectFrom('api_keys')
    .innerJoin('users', 'users.user_id', 'api_keys.user_id')
    .select(['api_keys.user_id', 'api_keys.label', 'api_keys.permissions', 'users.role'])
    .where('api_keys.key_id', '=', keyId)
    .where('api_keys.revoked_at', 'is', null)
    .executeTakeFirst();
  return requireManageable(row, caller, 'change or revoke the key');
}

/** Revokes a live key without a permission check. Returns whether there was a live key with this id. */
export async function revokeLiveKey(write: AccountWrite, keyId: number): Promise<boolean> {
  const { numUpdatedRows } = await write
    .updateTable('api_keys')
    .set({ revoked_at: write.now })
    .where('key_id', '=', keyId)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow();
  write.markAccessChange();
  if (numUpdatedRows > 0n) writeAuditEntries(write, { action: 'key.revoked', subject: `key ${keyId}` });
  return numUpdatedRows > 0n;
}

export function createKeyRoutes({ random }: { random: Random }): readonly Route[] {
  return [
    defineListRoute({
      path: '/keys',
      description: 'Lists API keys: your own, or for admins those of every user.',
      permission: 'keys:read',
      parameters: keyFilters,
      fields: keyFields,
      handle: listKeys,
    }),
    defineCreateRoute({
      path: '/keys',
      description: 'Issues an API key with at most the permissions of your own. It is returned only once.',
      permission: 'keys:write',
      fields: issuedKeyFields,
      inputFields: keyInputFields,
      recordedKinds: [],
      location: { collectionPath: '/keys', idField: 'id' },
      handle: (write, caller, input) => issueKey(write, caller, input, random),
    }),
    defineGetRoute({
      path: '/keys/{key_id}',
      description: 'Returns an API key, without its secret.',
      permission: 'keys:read',
      fields: keyFields,
      handle: (view, caller, ids) => getKey(view, caller, ids.key_id),
    }),
    defineUpdateRoute({
      path: '/keys/{key_id}',
      description: 'Renames an API key or removes permissions, effective immediately. Permissions cannot be added.',
      permission: 'keys:write',
      fields: keyFields,
      inputFields: keyChangeFields,
      recordedKinds: [],
      handle: (write, caller, input, ids) => changeKey(write, caller, ids.key_id, input),
    }),
    defineDeleteRoute({
      path: '/keys/{key_id}',
      description: 'Revokes an API key. Hooks are not affected.',
      permission: 'keys:write',
      recordedKinds: [],
      handle: (write, caller, ids) => revokeKey(write, caller, ids.key_id),
    }),
  ];
}
