import { type CreationInput, createCreationBodySpec, serializeRecord } from '../../http/fields/field.ts';
import type { PublicRequest, PublicResult, PublicRoute } from '../../http/routes/public-routes.ts';
import { clientNetworkOf } from '../../http/server/client-network.ts';
import { invalidInput, Problem } from '../../problems.ts';
import { hashToken, type PassphraseHasher, type Random } from '../../secrets.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import type { Queries } from '../../store/store.ts';
import { endSessions } from '../auth/revoke-access.ts';
import type { LoginThrottle } from '../passphrases/login-throttle.ts';
import { findPassphraseHash } from '../passphrases/passphrases.ts';
import { findSignInUser, type NewSession, openSession, signInInputFields, signInResponseFields } from './sessions.ts';

export type SignInDeps = {
  readonly random: Random;
  readonly passphraseHasher: PassphraseHasher;
  readonly loginThrottle: LoginThrottle;
  /**
   * Called for each rejected sign-in, with the account and the user that it named. The id of an unknown account or user
   * is 0.
   */
  readonly onSignInRefused: (refusal: { source: string; accountId: number; userId: number }) => void;
};

/** Creates the public routes for sign-in and sign-out. */
export function createSessionPublicRoutes(deps: SignInDeps): readonly PublicRoute[] {
  const bodySpec = createCreationBodySpec(signInInputFields);
  return [
    {
      method: 'POST',
      path: '/session',
      description: 'Signs in with domain, email and passphrase.',
      bodySchema: bodySpec.schema,
      run: (request) => signIn(request, bodySpec.parse(request.body), deps),
    },
    {
      method: 'DELETE',
      path: '/session',
      description: 'Signs out; no error without a session.',
      bodySchema: undefined,
      async run(request) {
        await signOut(request, 'signed out');
        return { body: [], session: 'forgotten' };
      },
    },
  ];
}

/** Signs in. Every failure has the same response after the same work, so that accounts and users cannot be probed. */
async function signIn(
  request: PublicRequest,
  input: CreationInput<typeof signInInputFields>,
  { random, passphraseHasher, loginThrottle, onSignInRefused }: SignInDeps,
): Promise<PublicResult> {
  const serviceHasSeveralAccounts = await hasSeveralAccounts(request.queries);
  const account = await findSignInAccount(request.queries, input.domain, serviceHasSeveralAccounts);
  const user =
    account === undefined ? undefined : await findSignInUser(request.queries, account.account_id, input.email);
  const accountId = account?.account_id ?? 0;
  const userId = user?.user_id ?? 0;
  // The key of the throttle has the same form for known and unknown users, so a delay does not reveal whether a user
  // exists.
  const throttleKey = JSON.stringify([
    serviceHasSeveralAccounts ? input.domain : '',
    user?.email ?? input.email,
  ]).toLowerCase();
  const storedHash = user?.passphrase_hash ?? undefined;
  const network = clientNetworkOf(request.clientIp);
  const newSession = (await loginThrottle
    .beginAttempt(throttleKey, request.clientIp)
    .verifyPassphrase(() => passphraseHasher.matches(input.passphrase, storedHash, network)))
    ? await openSessionOfVerifiedUser()
    : undefined;
  if (newSession === undefined) {
    onSignInRefused({ source: request.clientIp, accountId, userId });
    throw new Problem('sign_in_refused');
  }
  await signOut(request, 'signed in anew');
  return toSignInResult(newSession);

  async function openSessionOfVerifiedUser(): Promise<NewSession | undefined> {
    // Rehash if the stored hash uses a lower cost than the current setting.
    const isHashOutdated = storedHash !== undefined && passphraseHasher.isOutdated(storedHash);
    const newHash = isHashOutdated ? await passphraseHasher.hash(input.passphrase, network) : '';
    return request.runInAccount({ accountId, userId, lockMode: 'shared' }, async (write) => {
      // Reject the sign-in if the passphrase was changed or the user was deleted meanwhile.
      if ((await findPassphraseHash(write, userId)) !== storedHash) return undefined;
      if (newHash !== '') await replacePassphraseHash(write, userId, newHash);
      return openSession(write, { userId, userAgent: request.userAgent }, random);
    });
  }
}

async function replacePassphraseHash(write: AccountWrite, userId: number, hash: string): Promise<void> {
  await write
    .updateTable('passphrases')
    .set({ passphrase_hash: hash })
    .where('passphrases.user_id', '=', userId)
    .execute();
}

async function hasSeveralAccounts(queries: Queries): Promise<boolean> {
  return (await queries.selectFrom('accounts').select('account_id').limit(2).execute()).length > 1;
}

/** Finds the account with a domain. Without a domain, finds the only account of the service. */
async function findSignInAccount(
  queries: Queries,
  domain: string,
  serviceHasSeveralAccounts: boolean,
): Promise<{ account_id: number } | undefined> {
  const accountsQuery = queries.selectFrom('accounts').select('account_id');
  if (domain !== '') return accountsQuery.where('domain', '=', domain.toLowerCase()).executeTakeFirst();
  if (serviceHasSeveralAccounts)
    throw invalidInput([{ field: 'domain', message: 'is required: this service has several accounts' }]);
  return accountsQuery.executeTakeFirst();
}

/** Creates the response to a successful sign-in, with the session for the cookie. */
export function toSignInResult({ userId, token, ttlMs }: NewSession): PublicResult {
  return {
    body: { data: serializeRecord(signInResponseFields, { user_id: userId }) },
    session: { token, ttlMs },
  };
}

/** Ends the session whose token the browser has sent, if it has sent one. */
export async function signOut(request: PublicRequest, reason: 'signed out' | 'signed in anew'): Promise<void> {
  if (request.sessionToken === undefined) return;
  const session = await request.queries
    .selectFrom('sessions')
    .select(['session_id', 'account_id', 'user_id'])
    .where('token_hash', '=', hashToken(request.sessionToken))
    .executeTakeFirst();
  if (session === undefined) return;
  const { account_id: accountId, user_id: userId, session_id: sessionId } = session;
  await request.runInAccount({ accountId, userId, lockMode: 'shared' }, (write) =>
    endSessions(write, { userId, onlySessionId: sessionId }, reason),
  );
}
