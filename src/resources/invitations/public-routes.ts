import { type CreationInput, createCreationBodySpec, serializeRecord } from '../../http/fields/field.ts';
import type { PublicRequest, PublicResult, PublicRoute } from '../../http/routes/public-routes.ts';
import { clientNetworkOf } from '../../http/server/client-network.ts';
import { Problem } from '../../problems.ts';
import { hashToken, type PassphraseHasher, type Random } from '../../secrets.ts';
import type { Queries } from '../../store/store.ts';
import { endSessions, revokeInvitations } from '../auth/revoke-access.ts';
import { requireNotEmailOrDomain, storePassphrase } from '../passphrases/passphrases.ts';
import { openSession } from '../sessions/sessions.ts';
import { signOut, toSignInResult } from '../sessions/sign-in-routes.ts';
import { fullNameOf } from '../users/lookup.ts';
import {
  acceptInvitationFields,
  invitationTokenFields,
  markInvitationUsed,
  publicInvitationFields,
} from './invitations.ts';

type AcceptInvitationDeps = { readonly random: Random; readonly passphraseHasher: PassphraseHasher };

/** Creates the public routes for the holder of an invitation link. */
export function createInvitationPublicRoutes(deps: AcceptInvitationDeps): readonly PublicRoute[] {
  const tokenBodySpec = createCreationBodySpec(invitationTokenFields);
  const acceptBodySpec = createCreationBodySpec(acceptInvitationFields);
  return [
    {
      method: 'POST',
      path: '/invitation',
      description: 'Returns the user of a link, without using the link up.',
      bodySchema: tokenBodySpec.schema,
      async run({ queries, now, body }) {
        const openInvitation = await findOpenInvitation(queries, tokenBodySpec.parse(body).token, now);
        const invitation = {
          ...openInvitation,
          user_name: fullNameOf(openInvitation),
          has_passphrase: openInvitation.passphrase_hash !== null,
          expires: openInvitation.expires_at,
        };
        return { body: { data: serializeRecord(publicInvitationFields, invitation) } };
      },
    },
    {
      method: 'POST',
      path: '/welcome',
      description: 'Sets the passphrase of the user of a link, once, and signs them in.',
      bodySchema: acceptBodySpec.schema,
      run: (request) => acceptInvitation(request, acceptBodySpec.parse(request.body), deps),
    },
  ];
}

/** Sets the passphrase of the invited user, ends the user's other sessions and signs the user in. */
async function acceptInvitation(
  request: PublicRequest,
  { token, passphrase }: CreationInput<typeof acceptInvitationFields>,
  { random, passphraseHasher }: AcceptInvitationDeps,
): Promise<PublicResult> {
  const invitation = await findOpenInvitation(request.queries, token, request.now);
  requireNotEmailOrDomain(passphrase, invitation);
  const passphraseHash = await passphraseHasher.hash(passphrase, clientNetworkOf(request.clientIp));
  const { account_id: accountId, user_id: userId, invitation_id } = invitation;
  const newSession = await request.runInAccount({ accountId, userId, lockMode: 'exclusive' }, async (write) => {
    // Only one of two concurrent requests with the same link succeeds.
    if (!(await markInvitationUsed(write, invitation_id))) throw createInvalidLinkProblem();
    await storePassphrase(write, userId, passphraseHash);
    await endSessions(write, { userId }, 'a passphrase was set');
    await revokeInvitations(write, { userId }, 'a passphrase was set');
    return openSession(write, { userId, userAgent: request.userAgent }, random);
  });
  await signOut(request, 'signed in anew');
  return toSignInResult(newSession);
}

/** Finds an open invitation by its token. Throws the same 404 for an unknown, used, expired or revoked invitation. */
async function findOpenInvitation(queries: Queries, token: string, now: number) {
  const openInvitation = await queries
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
  if (openInvitation === undefined) throw createInvalidLinkProblem();
  return openInvitation;
}

function createInvalidLinkProblem(): Problem {
  return new Problem('not_found', {
    detail: 'This link is no longer valid: it was used, has expired, or was replaced by a newer one.',
  });
}
