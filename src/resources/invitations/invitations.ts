import { writeAuditEntries } from '../../audit/actions.ts';
import { readOnlyTimestamp } from '../../http/fields/dates.ts';
import type { CreationInput, StoredRecordOf } from '../../http/fields/field.ts';
import { ownRecordId, readOnlyId, recordId } from '../../http/fields/reference-fields.ts';
import { oneTimeSecret, readOnlyFlag, readOnlyText, shortText } from '../../http/fields/scalar-fields.ts';
import { defineCreateRoute, defineDeleteRoute, defineListRoute } from '../../http/routes/define-routes.ts';
import { mapRows, type Page, type PageRequest } from '../../http/routes/pagination.ts';
import type { ParsedParameters } from '../../http/routes/query-parameters.ts';
import type { Route } from '../../http/routes/route.ts';
import { type Caller, outranks, type Role } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import { hashToken, newToken, type Random } from '../../secrets.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { Store } from '../../store/store.ts';
import { revokeInvitations } from '../auth/revoke-access.ts';
import { buildFilterConditions, idFilter } from '../core/filters.ts';
import { loadPage } from '../core/pagination.ts';
import { ascendingOrder, numberKey } from '../core/sorting.ts';
import { newPassphraseField } from '../passphrases/passphrases.ts';
import { getUser } from '../users/users.ts';

/** Fields of an invitation: a link with which a user can set a passphrase once. */
const invitationFields = {
  id: ownRecordId('Identifier of the link.'),
  user_id: readOnlyId('The user it is for.'),
  made_by: readOnlyId('The user who created it; 0 for the command line and the first start.'),
  date_created: readOnlyTimestamp('When it was created, UTC.'),
  expires: readOnlyTimestamp('When it expires, UTC.'),
};

/** Response fields of a new invitation, including its link, which is returned only once. */
const issuedInvitationFields = {
  ...invitationFields,
  link: oneTimeSecret('The link. It is returned only once and stored as a hash.'),
};

const invitationInputFields = {
  user_id: recordId('The user it is for; not one whose role is above your own.'),
};

const invitationFilters = { user_id: idFilter('For this user.', 'invitations.user_id') };

/** Response fields of an invitation, for the holder of its link. */
export const publicInvitationFields = {
  email: readOnlyText('The e-mail address of the user.'),
  user_name: readOnlyText('First and last name.'),
  domain: readOnlyText('The domain of the account.'),
  company_name: readOnlyText('The name of the account.'),
  has_passphrase: readOnlyFlag('Whether the user already has a passphrase.'),
  expires: readOnlyTimestamp('When the link expires, UTC.'),
};

const tokenField = shortText('The part of the link after the last slash.');

/** Input fields for the holder of a link: to look the invitation up. */
export const invitationTokenFields = { token: tokenField };

/** Input fields for the holder of a link: to accept the invitation with a passphrase. */
export const acceptInvitationFields = {
  token: tokenField,
  passphrase: newPassphraseField('The passphrase. It must be neither the e-mail address nor the domain.'),
};

const INVITATION_TTL_MS = 7 * 24 * 3_600_000;

type StoredInvitation = {
  invitation_id: number;
  user_id: number;
  made_by: number;
  date_created: number;
  expires_at: number;
};

function toInvitationRow(row: StoredInvitation): StoredRecordOf<typeof invitationFields> {
  const { invitation_id: id, expires_at: expires, user_id, made_by, date_created } = row;
  return { id, user_id, made_by, date_created, expires };
}

function selectOpenInvitations(view: AccountView) {
  return view
    .selectFrom('invitations')
    .where('invitations.used_at', 'is', null)
    .where('invitations.expires_at', '>', view.now);
}

const orderById = ascendingOrder('id', numberKey('invitations.invitation_id'));

/** Lists the invitations that can still be used. */
async function listInvitations(
  view: AccountView,
  parameterValues: ParsedParameters<typeof invitationFilters>,
  paging: PageRequest,
): Promise<Page<StoredRecordOf<typeof invitationFields>>> {
  const invitationsQuery = selectOpenInvitations(view).selectAll('invitations');
  const page = await loadPage(
    selectOpenInvitations(view),
    invitationsQuery,
    orderById,
    buildFilterConditions(invitationFilters, parameterValues),
    paging,
  );
  return mapRows(page, toInvitationRow);
}

/** Creates an invitation. Only admins can create one, and only for users whose role is not above their own. */
export async function createInvitation(
  write: AccountWrite,
  caller: Caller,
  input: CreationInput<typeof invitationInputFields>,
  { random, baseUrl }: { random: Random; baseUrl: () => string },
): Promise<StoredRecordOf<typeof issuedInvitationFields>> {
  const user = await getUser(write, input.user_id);
  requireManageableRole(user.role, caller);
  const { token, ...row } = await insertInvitation(write, user.user_id, random);
  return { ...toInvitationRow(row), link: buildInvitationLink(baseUrl(), token) };
}

/**
 * Creates an invitation without a permission check; used at the first start, by the command line and by
 * `createInvitation`. It replaces the earlier invitations of the user.
 */
export async function insertInvitation(
  write: AccountWrite,
  userId: number,
  random: Random,
): Promise<StoredInvitation & { token: string }> {
  await revokeInvitations(write, { userId }, 'a newer link was made');
  const token = newToken(random);
  const row = await write.insertRow('invitations', {
    user_id: userId,
    made_by: write.actor.userId,
    token_hash: hashToken(token),
    date_created: write.now,
    expires_at: write.now + INVITATION_TTL_MS,
    used_at: null,
  });
  const { invitation_id } = row;
  writeAuditEntries(write, {
    action: 'invitation.created',
    subject: `invitation ${invitation_id}`,
    detail: { user_id: String(userId) },
  });
  return { ...row, token };
}

/**
 * Returns the link of an invitation, which is a page of the console. The token is in the fragment of the URL, which
 * browsers send to no server, so no log contains it.
 */
export function buildInvitationLink(baseUrl: string, token: string): string {
  return `${baseUrl}/#/welcome/${token}`;
}

/** Revokes an open invitation. Throws 404 if it was used or has expired. */
async function revokeInvitation(write: AccountWrite, caller: Caller, invitationId: number): Promise<void> {
  const row = await selectOpenInvitations(write)
    .innerJoin('users', 'users.user_id', 'invitations.user_id')
    .select('users.role')
    .where('invitations.invitation_id', '=', invitationId)
    .executeTakeFirst();
  if (row === undefined) throw notFound();
  requireManageableRole(row.role as Role, caller);
  await revokeInvitations(write, { onlyInvitationId: invitationId }, 'ended by hand');
}

function requireManageableRole(role: Role, caller: Caller): void {
  if (!outranks(role, caller.role)) return;
  throw new Problem('not_permitted', { detail: 'You cannot manage links for a user whose role is above your own.' });
}

/** Marks an invitation as used. Returns false if it was already used, has expired or was revoked meanwhile. */
export async function markInvitationUsed(write: AccountWrite, invitationId: number): Promise<boolean> {
  const { numUpdatedRows } = await write
    .updateTable('invitations')
    .set({ used_at: write.now })
    .where('invitations.invitation_id', '=', invitationId)
    .where('invitations.used_at', 'is', null)
    .where('invitations.expires_at', '>', write.now)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows > 0n)
    writeAuditEntries(write, { action: 'invitation.used', subject: `invitation ${invitationId}` });
  return numUpdatedRows > 0n;
}

/** Deletes expired invitations, used or not. Returns how many were deleted. */
export async function deleteExpiredInvitations(store: Store, now: number): Promise<number> {
  return store.write(async ({ queries }) => {
    const { numDeletedRows } = await queries
      .deleteFrom('invitations')
      .where('expires_at', '<=', now)
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  });
}

type InvitationDeps = { readonly random: Random; readonly baseUrl: () => string };

export function createInvitationRoutes(deps: InvitationDeps): readonly Route[] {
  return [
    defineListRoute({
      path: '/invitations',
      description: 'Lists the open links with which users can set a passphrase; for admins.',
      permission: 'users:write',
      parameters: invitationFilters,
      fields: invitationFields,
      handle: (view, _caller, parameterValues, paging) => listInvitations(view, parameterValues, paging),
    }),
    defineCreateRoute({
      path: '/invitations',
      description: 'Creates a link with which a user can set a passphrase once; for admins. It replaces earlier ones.',
      permission: 'users:write',
      fields: issuedInvitationFields,
      inputFields: invitationInputFields,
      recordedKinds: [],
      lockMode: 'exclusive',
      location: { collectionPath: '/invitations', idField: 'id' },
      handle: (write, caller, input) => createInvitation(write, caller, input, deps),
    }),
    defineDeleteRoute({
      path: '/invitations/{invitation_id}',
      description: 'Revokes a link; for admins.',
      permission: 'users:write',
      recordedKinds: [],
      handle: (write, caller, ids) => revokeInvitation(write, caller, ids.invitation_id),
    }),
  ];
}
