import { type Created, serializeRecord } from '../../http/fields/field.ts';
import { creation } from '../../http/fields/validate-body.ts';
import type { PublicRequest, PublicResult, PublicRoute } from '../../http/routes/public-routes.ts';
import { networkOf } from '../../http/server/client-network.ts';
import { Problem } from '../../problems.ts';
import { hashToken, type Passphrases, type Random } from '../../secrets.ts';
import type { Queries } from '../../store/store.ts';
import { endSessions, revokeInvitations } from '../auth/revoke-access.ts';
import { requireDifferent, storePassphrase } from '../passphrases/passphrases.ts';
import { openSession } from '../sessions/sessions.ts';
import { signedIn, signOut } from '../sessions/sign-in-routes.ts';
import { userName } from '../users/lookup.ts';
import { openInvitationFields, publicInvitationFields, useInvitation, welcomeFields } from './invitations.ts';

export type WelcomePorts = { readonly random: Random; readonly passphrases: Passphrases };

/** Creates the public routes for the holder of an invitation link. */
export function invitationOpenRoutes(ports: WelcomePorts): readonly PublicRoute[] {
  const tokenInput = creation(openInvitationFields);
  const welcomeInput = creation(welcomeFields);
  return [
    {
      method: 'POST',
      path: '/invitation',
      description: 'Returns the user of a link, without using the link up.',
      body: tokenInput.schema,
      async run({ read, now, body }) {
        const found = await findOpen(read, tokenInput.read(body).token, now);
        const invitation = {
          ...found,
          user_name: userName(found),
          has_passphrase: found.passphrase_hash !== null,
          expires: found.expires_at,
        };
        return { body: { data: serializeRecord(publicInvitationFields, invitation) } };
      },
    },
    {
      method: 'POST',
      path: '/welcome',
      description: 'Sets the passphrase of the user of a link, once, and signs them in.',
      body: welcomeInput.schema,
      run: (request) => acceptInvitation(request, welcomeInput.read(request.body), ports),
    },
  ];
}

/** Sets the passphrase of the invited user, ends the user's other sessions and signs the user in. */
async function acceptInvitation(
  request: PublicRequest,
  { token, passphrase }: Created<typeof welcomeFields>,
  { random, passphrases }: WelcomePorts,
): Promise<PublicResult> {
  const invitation = await findOpen(request.read, token, request.now);
  requireDifferent(passphrase, invitation);
  const hash = await passphrases.hash(passphrase, networkOf(request.source));
  const { account_id: accountId, user_id: userId, invitation_id } = invitation;
  const opened = await request.within({ accountId, userId, holding: 'exclusive' }, async (write) => {
    // Only one of two concurrent requests with the same link succeeds.
    if (!(await useInvitation(write, invitation_id))) throw invalidLink();
    await storePassphrase(write, userId, hash);
    await endSessions(write, { userId }, 'a passphrase was set');
    await revokeInvitations(write, { userId }, 'a passphrase was set');
    return openSession(write, { userId, agent: request.agent }, random);
  });
  await signOut(request, 'signed in anew');
  return signedIn(opened);
}

/** Finds an open invitation by its token. Throws the same 404 for an unknown, used, expired or revoked invitation. */
async function findOpen(read: Queries, token: string, now: number) {
  const found = await read
    .selectFrom('invitations')
    .innerJoin('users', 'users.user_id', 'invitations.user_id')
    .innerJoin('accounts', 'accounts.account_id', 'invitations.account_id')
    .leftJoin('passphrases', 'passphrases.user_id', 'invitations.user_id')
    .select([
      'invitations.invitation_id',
      'invitations.account_id',
      'invitations.user_id',
      'invitations.expires_at',
      'users.email',
      'users.first_name',
      'users.last_name',
      'accounts.domain',
      'accounts.company_name',
      'passphrases.passphrase_hash',
    ])
    .where('invitations.token_hash', '=', hashToken(token))
    .where('invitations.used_at', 'is', null)
    .where('invitations.expires_at', '>', now)
    .where('users.date_deleted', 'is', null)
    .executeTakeFirst();
  if (found === undefined) throw invalidLink();
  return found;
}

function invalidLink(): Problem {
  return new Problem('not_found', {
    detail: 'This link is no longer valid: it was used, has expired, or was replaced by a newer one.',
  });
}
