import { writeAuditEntries } from '../../audit/actions.ts';
import {
  type CreationInput,
  createCreationBodySpec,
  createParser,
  createRecordSchema,
  type Field,
  serializeRecord,
} from '../../http/fields/field.ts';
import { readOnlyId } from '../../http/fields/reference-fields.ts';
import { isValidText } from '../../http/fields/scalar-fields.ts';
import { defineWriteWithPreparation } from '../../http/routes/define-routes.ts';
import { createRecordResponseSchema } from '../../http/routes/pagination.ts';
import type { Route } from '../../http/routes/route.ts';
import { clientNetworkOf } from '../../http/server/client-network.ts';
import type { Caller } from '../../permissions.ts';
import { invalidInput } from '../../problems.ts';
import type { PassphraseHasher } from '../../secrets.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { endSessions, revokeInvitations } from '../auth/revoke-access.ts';
import type { LoginThrottle } from './login-throttle.ts';

/** Minimum length of a passphrase in characters. */
const MIN_PASSPHRASE_LENGTH = 12;
/** Maximum length of a passphrase in characters. */
const MAX_PASSPHRASE_LENGTH = 256;

function passphraseField(description: string, minLength: number, errorMessage: string): Field<string, 'writeOnly'> {
  return {
    mode: 'writeOnly',
    description,
    inputSchema: { type: 'string', minLength, maxLength: MAX_PASSPHRASE_LENGTH, 'x-must': errorMessage },
    // `isValidText` rejects text that cannot be stored, but also trims it. The bars protect leading and trailing
    // spaces, which are part of a passphrase.
    parse: createParser(errorMessage, (value) =>
      typeof value === 'string' && isValidText(`|${value}|`, minLength + 2, MAX_PASSPHRASE_LENGTH + 2)
        ? value
        : undefined,
    ),
    default: undefined,
    outputSchema: {},
    serialize: () => '',
  };
}

/** Creates the field for a new passphrase. */
export const newPassphraseField = (description: string) =>
  passphraseField(
    description,
    MIN_PASSPHRASE_LENGTH,
    `must be a text of ${MIN_PASSPHRASE_LENGTH} to ${MAX_PASSPHRASE_LENGTH} characters`,
  );

/** Creates the field for a passphrase that is compared with the stored one. The field has no minimum length. */
export const enteredPassphraseField = (description: string) =>
  passphraseField(description, 0, `must be a text of at most ${MAX_PASSPHRASE_LENGTH} characters`);

/** Input fields of a passphrase change. */
export const passphraseChangeFields = {
  current: enteredPassphraseField('The current passphrase.'),
  passphrase: newPassphraseField('The new passphrase. It must be neither your e-mail address nor the domain.'),
};

const passphraseResponseFields = { user_id: readOnlyId('The user.') };

/** The hashes of the current passphrase and of the new passphrase. */
type PassphraseHashes = { readonly currentHash: string; readonly newHash: string };

/**
 * Verifies the current passphrase and hashes the new one. This happens before the transaction, because hashing is slow.
 * Failed attempts are rate-limited as at sign-in.
 */
async function verifyAndHashPassphrases(
  view: AccountView,
  caller: Caller,
  input: CreationInput<typeof passphraseChangeFields>,
  clientIp: string,
  { passphraseHasher, loginThrottle }: { passphraseHasher: PassphraseHasher; loginThrottle: LoginThrottle },
): Promise<PassphraseHashes> {
  requireNotEmailOrDomain(input.passphrase, await loadEmailAndDomain(view, caller.userId));
  const storedHash = await findPassphraseHash(view, caller.userId);
  const loginAttempt = loginThrottle.beginAttempt(`user ${caller.userId}`, `session ${caller.sessionId}`);
  const network = clientNetworkOf(clientIp);
  const isCorrect = await loginAttempt.verifyPassphrase(() =>
    passphraseHasher.matches(input.current, storedHash, network),
  );
  if (!isCorrect || storedHash === undefined) throw createWrongPassphraseProblem();
  return { currentHash: storedHash, newHash: await passphraseHasher.hash(input.passphrase, network) };
}

/** Stores the new passphrase, ends the user's other sessions and revokes the user's open invitations. */
async function changePassphrase(
  write: AccountWrite,
  caller: Caller,
  { currentHash, newHash }: PassphraseHashes,
): Promise<{ user_id: number }> {
  const { userId: user_id, sessionId: ownSessionId } = caller;
  if ((await findPassphraseHash(write, user_id)) !== currentHash) throw createWrongPassphraseProblem();
  await storePassphrase(write, user_id, newHash);
  await endSessions(write, { userId: user_id, exceptSessionId: ownSessionId }, 'a passphrase was set');
  await revokeInvitations(write, { userId: user_id }, 'a passphrase was set');
  return { user_id };
}

/** Stores a passphrase hash without a permission check; used by `changePassphrase` and by accepted invitations. */
export async function storePassphrase(write: AccountWrite, userId: number, hash: string): Promise<void> {
  await write
    .insertInto('passphrases', { user_id: userId, passphrase_hash: hash, date_modified: write.now })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet({ passphrase_hash: hash, date_modified: write.now }),
    )
    .execute();
  writeAuditEntries(write, { action: 'passphrase.set', subject: `user ${userId}` });
}

/** Finds the stored hash of a user's passphrase; undefined if no passphrase was set. */
export async function findPassphraseHash(view: AccountView, userId: number): Promise<string | undefined> {
  const row = await view
    .selectFrom('passphrases')
    .select('passphrases.passphrase_hash')
    .where('passphrases.user_id', '=', userId)
    .executeTakeFirst();
  return row?.passphrase_hash;
}

/** Rejects a passphrase that equals the e-mail address or the domain, because an attacker tries these first. */
export function requireNotEmailOrDomain(
  passphrase: string,
  forbiddenNames: { readonly email: string; readonly domain: string },
): void {
  const normalize = (text: string) => text.normalize('NFKC').trim().toLowerCase();
  if (![forbiddenNames.email, forbiddenNames.domain].map(normalize).includes(normalize(passphrase))) return;
  throw invalidInput([{ field: 'passphrase', message: 'must be neither your e-mail address nor the domain' }]);
}

async function loadEmailAndDomain(view: AccountView, userId: number): Promise<{ email: string; domain: string }> {
  return view
    .selectFrom('users')
    .innerJoin('accounts', 'accounts.account_id', 'users.account_id')
    .select(['users.email', 'accounts.domain'])
    .where('users.user_id', '=', userId)
    .executeTakeFirstOrThrow();
}

function createWrongPassphraseProblem() {
  return invalidInput([{ field: 'current', message: 'is not your passphrase' }]);
}

export type PassphraseDeps = { readonly passphraseHasher: PassphraseHasher; readonly loginThrottle: LoginThrottle };

export function createPassphraseRoutes(deps: PassphraseDeps): readonly Route[] {
  const bodySpec = createCreationBodySpec(passphraseChangeFields);
  return [
    {
      method: 'PUT',
      path: '/passphrase',
      description: 'Changes your passphrase and ends your other sessions.',
      permission: undefined,
      parameters: {},
      bodySchema: bodySpec.schema,
      status: 200,
      responseSchema: createRecordResponseSchema(createRecordSchema(passphraseResponseFields)),
      recordedKinds: [],
      supportsPreconditions: false,
      problems: ['too_many_tries'],
      lockMode: 'exclusive',
      ...defineWriteWithPreparation({
        prepare: (caller, { body }, view, clientIp) =>
          verifyAndHashPassphrases(view, caller, bodySpec.parse(body), clientIp, deps),
        run: async (write, caller, _input, hashes) => ({
          body: { data: serializeRecord(passphraseResponseFields, await changePassphrase(write, caller, hashes)) },
        }),
      }),
    },
  ];
}
