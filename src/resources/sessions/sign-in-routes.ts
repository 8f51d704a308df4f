import { type CreationInput, serializeRecord } from '../../http/fields/field.ts';
import { creationBodySpec } from '../../http/fields/validate-body.ts';
import type { PublicRequest, PublicResult, PublicRoute } from '../../http/routes/public-routes.ts';
import { clientNetworkOf } from '../../http/server/client-network.ts';
import { invalidInput, Problem } from '../../problems.ts';
import { hashToken, type PassphraseHasher, type Random } from '../../secrets.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import type { Queries } from '../../store/store.ts';
import { endSessions } from '../auth/revoke-access.ts';
import type { LoginThrottle } from '../passphrases/login-throttle.ts';
import { findPassphraseHash } from '../passphrases/passphrases.ts';
import { findUserByEmail, type NewSession, openSession, signedInFields, signInFields } from './sessions.ts';

export type SignInPorts = {
  readonly random: Random;
  readonly passphrases: PassphraseHasher;
  readonly throttle: LoginThrottle;
  /**
   * Called for each rejected sign-in, with the account and the user that it named. The id of an unknown account or user
   * is 0.
   */
  readonly onRefused: (refused: { source: string; accountId: number; userId: number }) => void;
};

/** Creates the public routes for sign-in and sign-out. */
export function sessionPublicRoutes(ports: SignInPorts): readonly PublicRoute[] {
  const input = creationBodySpec(signInFields);
  return [
    {
      method: 'POST',
      path: '/session',
      description: 'Signs in with domain, email and passphrase.',
      body: input.schema,
      run: (request) => signIn(request, input.read(request.body), ports),
    },
    {
      method: 'DELETE',
      path: '/session',
      description: 'Signs out; no error without a session.',
      body: undefined,
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
  input: CreationInput<typeof signInFields>,
  { random, passphrases, throttle, onRefused }: SignInPorts,
): Promise<PublicResult> {
  const hasSeveral = await hasSeveralAccounts(request.read);
  const account = await findAccount(request.read, input.domain, hasSeveral);
  const user = account === undefined ? undefined : await findUserByEmail(request.read, account.account_id, input.email);
  const accountId = account?.account_id ?? 0;
  const userId = user?.user_id ?? 0;
  // The key of the throttle has the same form for known and unknown users, so a delay does not reveal whether a user
  // exists.
  const who = JSON.stringify([hasSeveral ? input.domain : '', user?.email ?? input.email]).toLowerCase();
  const stored = user?.passphrase_hash ?? undefined;
  const network = clientNetworkOf(request.source);
  const opened = (await throttle
    .begin(who, request.source)
    .check(() => passphrases.matches(input.passphrase, stored, network)))
    ? await open()
    : undefined;
  if (opened === undefined) {
    onRefused({ source: request.source, accountId, userId });
    throw new Problem('sign_in_refused');
  }
  await signOut(request, 'signed in anew');
  return toSignInResult(opened);

  async function open(): Promise<NewSession | undefined> {
    // Rehash if the stored hash uses a lower cost than the current setting.
    const isOutdated = stored !== undefined && passphrases.isOutdated(stored);
    const newHash = isOutdated ? await passphrases.hash(input.passphrase, network) : '';
    return request.runInAccount({ accountId, userId, lockMode: 'shared' }, async (write) => {
      // The passphrase was changed meanwhile, or the user was deleted: reject the sign-in.
      if ((await findPassphraseHash(write, userId)) !== stored) return undefined;
      if (newHash !== '') await replaceHash(write, userId, newHash);
      return openSession(write, { userId, agent: request.agent }, random);
    });
  }
}

async function replaceHash(write: AccountWrite, userId: number, hash: string): Promise<void> {
  await write
    .updateTable('passphrases')
    .set({ passphrase_hash: hash })
    .where('passphrases.user_id', '=', userId)
    .execute();
}

async function hasSeveralAccounts(read: Queries): Promise<boolean> {
  return (await read.selectFrom('accounts').select('account_id').limit(2).execute()).length > 1;
}

/** Finds the account with a domain. Without a domain, finds the only account of the service. */
async function findAccount(
  read: Queries,
  domain: string,
  hasSeveral: boolean,
): Promise<{ account_id: number } | undefined> {
  const accounts = read.selectFrom('accounts').select('account_id');
  if (domain !== '') return accounts.where('domain', '=', domain.toLowerCase()).executeTakeFirst();
  if (hasSeveral) throw invalidInput([{ field: 'domain', message: 'is required: this service has several accounts' }]);
  return accounts.executeTakeFirst();
}

/** Creates the response to a successful sign-in, with the session for the cookie. */
export function toSignInResult({ userId, token, lifeMs }: NewSession): PublicResult {
  return { body: { data: serializeRecord(signedInFields, { user_id: userId }) }, session: { token, lifeMs } };
}

/** Ends the session whose token the browser has sent, if it has sent one. */
export async function signOut(request: PublicRequest, because: 'signed out' | 'signed in anew'): Promise<void> {
  if (request.token === undefined) return;
  const session = await request.read
    .selectFrom('sessions')
    .select(['session_id', 'account_id', 'user_id'])
    .where('token_hash', '=', hashToken(request.token))
    .executeTakeFirst();
  if (session === undefined) return;
  const { account_id: accountId, user_id: userId, session_id: only } = session;
  await request.runInAccount({ accountId, userId, lockMode: 'shared' }, (write) =>
    endSessions(write, { userId, only }, because),
  );
}
