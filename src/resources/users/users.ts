import { type SqlBool, sql } from 'kysely';
import { type AuditEntry, writeAuditEntries } from '../../audit/actions.ts';
import {
  type EnqueueHookAlerts,
  endHooks,
  endHooksAfterRoleLoss,
  skipHookAlerts,
} from '../../delivery/outbox/end-hooks.ts';
import { recordOccurrences } from '../../delivery/outbox/record-occurrences.ts';
import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import {
  type ChangeInput,
  type CreationInput,
  findChangedFields,
  type StoredRecordOf,
} from '../../http/fields/field.ts';
import { ownRecordId } from '../../http/fields/reference-fields.ts';
import { email, readOnlyText, shortText } from '../../http/fields/scalar-fields.ts';
import {
  defineCreateRoute,
  defineDeleteRoute,
  defineGetRoute,
  defineListRoute,
  defineUpdateRoute,
} from '../../http/routes/define-routes.ts';
import { mapRows, type Page, type PageRequest } from '../../http/routes/pagination.ts';
import type { Route } from '../../http/routes/route.ts';
import { type Caller, outranks, type Role } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { revokeAccessExceptKeys, revokeInvitationsAfterRoleChange } from '../auth/revoke-access.ts';
import { role } from '../core/domain-fields.ts';
import { loadPage } from '../core/pagination.ts';
import { ascendingOrder, numberKey } from '../core/sorting.ts';
import { fullNameOf } from './lookup.ts';

/** Fields of a user (C35). */
export const userFields = {
  user_id: ownRecordId('Identifier of the user.'),
  email: email('E-mail address; unique in the account.', 'required'),
  first_name: shortText('First name.', 100),
  last_name: shortText('Last name.', 100),
  user_name: readOnlyText('First and last name.'),
  role: role('member, admin or owner.'),
  date_created: readOnlyTimestamp('When the user was added, UTC.'),
};

type UserRow = StoredRecordOf<typeof userFields>;

function selectExistingUsers(view: AccountView) {
  return view.selectFrom('users').where('users.date_deleted', 'is', null);
}

function toUserRow<R extends { first_name: string; last_name: string; role: string }>(
  row: R,
): R & { user_name: string; role: Role } {
  return { ...row, user_name: fullNameOf(row), role: row.role as Role };
}

const orderById = ascendingOrder('id', numberKey('users.user_id'));

async function listUsers(view: AccountView, paging: PageRequest): Promise<Page<UserRow>> {
  const page = await loadPage(
    selectExistingUsers(view),
    selectExistingUsers(view).selectAll('users'),
    orderById,
    [],
    paging,
  );
  return mapRows(page, toUserRow);
}

export async function getUser(view: AccountView, userId: number): Promise<UserRow> {
  const row = await selectExistingUsers(view).selectAll('users').where('users.user_id', '=', userId).executeTakeFirst();
  if (row === undefined) throw notFound();
  return toUserRow(row);
}

/** Adds a user; only for admins. The new role must not be above the caller's own (X7). */
export async function createUser(
  write: AccountWrite,
  caller: Caller,
  input: CreationInput<typeof userFields>,
): Promise<UserRow> {
  requireManageableRole(caller, input.role);
  await requireUnusedEmail(write, input.email, 0);
  const { user_id } = await insertUser(write, input);
  recordOccurrences(write, [{ kind: 'new_user', recordId: user_id, userId: caller.userId }]);
  return getUser(write, user_id);
}

/** Adds a user without a permission check; used by the command line and by `createUser`. */
export async function insertUser(
  write: AccountWrite,
  input: CreationInput<typeof userFields>,
): Promise<{ user_id: number }> {
  const row = { ...input, date_created: write.now, date_modified: null, date_deleted: null };
  const { user_id } = await write.insertRow('users', row);
  writeAuditEntries(write, {
    action: 'user.created',
    subject: `user ${user_id}`,
    detail: { email: input.email, role: input.role },
  });
  return { user_id };
}

async function changeUser(
  write: AccountWrite,
  caller: Caller,
  userId: number,
  input: ChangeInput<typeof userFields>,
  enqueueAlerts: EnqueueHookAlerts,
): Promise<UserRow> {
  const oldUser = await getUser(write, userId);
  requireManageableRole(caller, oldUser.role);
  if (input.role !== undefined) {
    requireManageableRole(caller, input.role);
    if (oldUser.role === 'owner' && input.role !== 'owner') await requireAnotherOwner(write);
  }
  if (input.email !== undefined) await requireUnusedEmail(write, input.email, userId);
  write.markAccessChange();
  await write
    .updateTable('users')
    .set({ ...input, date_modified: write.now })
    .where('user_id', '=', userId)
    .execute();
  if (input.role !== undefined && input.role !== oldUser.role) {
    writeAuditEntries(write, {
      action: 'user.role_changed',
      subject: `user ${userId}`,
      detail: { from: oldUser.role, to: input.role },
    });
    await revokeInvitationsAfterRoleChange(write, userId);
    if (input.role === 'member') await endHooksAfterRoleLoss(write, userId, enqueueAlerts);
  }
  const newUser = await getUser(write, userId);
  const fields = findChangedFields(userFields, oldUser, newUser);
  recordOccurrences(write, [{ kind: 'changed_user', recordId: userId, userId: caller.userId, fields }]);
  return newUser;
}

/**
 * Deletes a user, revokes all access of the user and ends the user's hooks (C23). The user's records stay. The last
 * owner cannot be deleted (X7).
 */
async function deleteUser(write: AccountWrite, caller: Caller, userId: number): Promise<void> {
  const user = await getUser(write, userId);
  requireManageableRole(caller, user.role);
  if (user.role === 'owner') await requireAnotherOwner(write);
  write.markAccessChange();
  await write.updateTable('users').set({ date_deleted: write.now }).where('user_id', '=', userId).execute();
  const revokedKeys = await write
    .updateTable('api_keys')
    .set({ revoked_at: write.now })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .returning('key_id')
    .execute();
  writeAuditEntries(
    write,
    { action: 'user.deleted', subject: `user ${userId}`, detail: { email: user.email } },
    ...revokedKeys.map(({ key_id }): AuditEntry => ({ action: 'key.revoked', subject: `key ${key_id}` })),
  );
  await revokeAccessExceptKeys(write, userId);
  const liveHooks = await write
    .selectFrom('hooks')
    .select('hooks.hook_id')
    .where('hooks.user_id', '=', userId)
    .where('hooks.date_ended', 'is', null)
    .execute();
  recordOccurrences(write, [{ kind: 'deleted_user', recordId: userId, userId: caller.userId }]);
  await endHooks(
    write,
    liveHooks.map((hook) => hook.hook_id),
    'user_deleted',
  );
}

function requireManageableRole(caller: Caller, role: Role): void {
  if (!outranks(role, caller.role)) return;
  throw new Problem('not_permitted', { detail: 'You cannot give or change a role above your own.' });
}

async function requireAnotherOwner(view: AccountView): Promise<void> {
  const owners = await selectExistingUsers(view).select('users.user_id').where('users.role', '=', 'owner').execute();
  if (owners.length < 2) throw new Problem('last_owner');
}

/** Throws `email_taken` if another user of the account has this e-mail address, ignoring case. */
async function requireUnusedEmail(view: AccountView, email: string, exceptUserId: number): Promise<void> {
  const existingUser = await findUserByEmail(view, email);
  if (existingUser !== undefined && existingUser.user_id !== exceptUserId) throw new Problem('email_taken');
}

export async function findUserByEmail(
  view: AccountView,
  email: string,
): Promise<{ user_id: number; role: Role } | undefined> {
  const row = await selectExistingUsers(view)
    .select(['users.user_id', 'users.role'])
    .where(sql<SqlBool>`fold(users.email) = fold(${email})`)
    .executeTakeFirst();
  return row === undefined ? undefined : { user_id: row.user_id, role: row.role as Role };
}

/** @param enqueueAlerts enqueues the mail about hooks that end when their user loses the role of an admin (X10, X11) */
export const createUserRoutes = ({
  enqueueAlerts = skipHookAlerts,
}: {
  enqueueAlerts?: EnqueueHookAlerts;
}): readonly Route[] => [
  defineGetRoute({
    path: '/user',
    description: 'Returns the caller.',
    permission: undefined,
    fields: userFields,
    handle: (view, caller) => getUser(view, caller.userId),
  }),
  defineListRoute({
    path: '/users',
    description: 'Lists the users of the account.',
    permission: 'users:read',
    parameters: {},
    fields: userFields,
    handle: (view, _caller, _parameterValues, paging) => listUsers(view, paging),
  }),
  defineCreateRoute({
    path: '/users',
    description: 'Creates a user; for admins.',
    permission: 'users:write',
    fields: userFields,
    recordedKinds: ['new_user'],
    problems: ['email_taken'],
    location: { collectionPath: '/users', idField: 'user_id' },
    handle: createUser,
  }),
  defineGetRoute({
    path: '/users/{user_id}',
    description: 'Returns a user.',
    permission: 'users:read',
    fields: userFields,
    handle: (view, _caller, ids) => getUser(view, ids.user_id),
  }),
  defineUpdateRoute({
    path: '/users/{user_id}',
    description: 'Changes the given fields of a user; for admins.',
    permission: 'users:write',
    fields: userFields,
    recordedKinds: ['changed_user'],
    problems: ['email_taken', 'last_owner'],
    handle: (write, caller, input, ids) => changeUser(write, caller, ids.user_id, input, enqueueAlerts),
  }),
  defineDeleteRoute({
    path: '/users/{user_id}',
    description: 'Deletes a user; for admins. Keys are revoked, hooks end, records stay.',
    permission: 'users:write',
    recordedKinds: ['deleted_user'],
    problems: ['last_owner'],
    handle: (write, caller, ids) => deleteUser(write, caller, ids.user_id),
  }),
];
