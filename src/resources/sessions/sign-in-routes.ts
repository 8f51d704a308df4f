import { type Created, serializeRecord } from '../../http/fields/field.ts';
import { creation } from '../../http/fields/validate-body.ts';
import type { PublicRequest, PublicResult, PublicRoute } from '../../http/routes/public-routes.ts';
import { networkOf } from '../../http/server/client-network.ts';
import { invalidInput, Problem } from '../../problems.ts';
import { hashToken, type Passphrases, type Random } from '../../secrets.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import type { Queries } from '../../store/store.ts';
import { endSessions } from '../auth/revoke-access.ts';
import type { LoginThrottle } from '../passphrases/login-throttle.ts';
import { storedOf } from '../passphrases/passphrases.ts';
import { type Opened, openSession } from './actions.ts';
import { findPerson } from './find-user.ts';
import { signedInFields, signInFields } from './schema.ts';

export type SignInPorts = {
  readonly random: Random;
  readonly passphrases: Passphrases;
  readonly tries: LoginThrottle;
  /** Hears of every sign-in that was refused: the account and the user it named, 0 for none. */
  readonly onRefused: (refused: { source: string; accountId: number; userId: number }) => void;
};

/** Signing in, and out. */
export function sessionOpenRoutes(ports: SignInPorts): readonly PublicRoute[] {
  const input = creation(signInFields);
  return [
    {
      method: 'POST',
      path: '/session',
      says: 'Signs in with domain, email and passphrase.',
      body: input.schema,
      run: (visit) => signIn(visit, input.read(visit.body), ports),
    },
    {
      method: 'DELETE',
      path: '/session',
      says: 'Signs out; also where nobody is signed in.',
      body: undefined,
      async run(visit) {
        await signOut(visit, 'signed out');
        return { body: [], session: 'forgotten' };
      },
    },
  ];
}

/** One answer for all that may be wrong, after the same work, so that nothing can be probed. */
async function signIn(
  visit: PublicRequest,
  input: Created<typeof signInFields>,
  { random, passphrases, tries, onRefused }: SignInPorts,
): Promise<PublicResult> {
  const hasSeveral = await hasSeveralAccounts(visit.read);
  const account = await findAccount(visit.read, input.domain, hasSeveral);
  const person = account === undefined ? undefined : await findPerson(visit.read, account.account_id, input.email);
  const accountId = account?.account_id ?? 0;
  const userId = person?.user_id ?? 0;
  // By one form of words for somebody and for nobody: who has to wait must not tell.
  const who = JSON.stringify([hasSeveral ? input.domain : '', person?.email ?? input.email]).toLowerCase();
  const stored = person?.passphrase_hash ?? undefined;
  const network = networkOf(visit.source);
  const opened = (await tries
    .begin(who, visit.source)
    .check(() => passphrases.matches(input.passphrase, stored, network)))
    ? await open()
    : undefined;
  if (opened === undefined) {
    onRefused({ source: visit.source, accountId, userId });
    throw new Problem('sign_in_refused');
  }
  await signOut(visit, 'signed in anew');
  return signedIn(opened);

  async function open(): Promise<Opened | undefined> {
    // Hashed anew where a hash has become dearer since.
    const isOutdated = stored !== undefined && passphrases.isOutdated(stored);
    const anew = isOutdated ? await passphrases.hash(input.passphrase, network) : '';
    return visit.within({ accountId, userId, holding: 'beside' }, async (write) => {
      // Set anew, or gone with its user, in the meantime.
      if ((await storedOf(write, userId)) !== stored) return undefined;
      if (anew !== '') await replaceHash(write, userId, anew);
      return openSession(write, { userId, agent: visit.agent }, random);
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

/** The account with a domain, or the only one where none is named. */
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

/** What whoever is signed in is told. */
export function signedIn({ userId, token, lifeMs }: Opened): PublicResult {
  return { body: { data: serializeRecord(signedInFields, { user_id: userId }) }, session: { token, lifeMs } };
}

/** Ends the session that the browser has, if it has one. */
export async function signOut(visit: PublicRequest, because: 'signed out' | 'signed in anew'): Promise<void> {
  if (visit.token === undefined) return;
  const session = await visit.read
    .selectFrom('sessions')
    .select(['session_id', 'account_id', 'user_id'])
    .where('token_hash', '=', hashToken(visit.token))
    .executeTakeFirst();
  if (session === undefined) return;
  const { account_id: accountId, user_id: userId, session_id: only } = session;
  await visit.within({ accountId, userId, holding: 'beside' }, (write) =>
    endSessions(write, { userId, only }, because),
  );
}
