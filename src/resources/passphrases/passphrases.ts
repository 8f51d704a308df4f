import { note } from '../../audit/actions.ts';
import { type Created, type Field, responseSchema, serializeRecord } from '../../http/fields/field.ts';
import { readOnlyId } from '../../http/fields/field-types.ts';
import { creation, isText } from '../../http/fields/validate-body.ts';
import { recordSchema } from '../../http/routes/pagination.ts';
import { prepared, type Route } from '../../http/routes/route.ts';
import { networkOf } from '../../http/server/client-network.ts';
import type { Caller } from '../../permissions.ts';
import { invalidInput } from '../../problems.ts';
import type { Passphrases } from '../../secrets.ts';
import type { AccountView, AccountWrite } from '../../store/account-scope.ts';
import { endSessions, revokeInvitations } from '../auth/revoke-access.ts';
import type { LoginThrottle } from './login-throttle.ts';

/** As long as a passphrase is, in characters. */
const SHORTEST = 12;
const LONGEST = 256;

function asked(description: string, least: number, must: string): Field<string, 'asked'> {
  return {
    mode: 'asked',
    description,
    inputSchema: { type: 'string', minLength: least, maxLength: LONGEST, 'x-must': must },
    // Blanks at its ends belong to it; what no keyboard makes does not.
    validate: (value) => (isText(`|${value}|`, 2, LONGEST + 2) ? undefined : must),
    parse: String,
    default: undefined,
    outputSchema: {},
    serialize: () => '',
  };
}

/** A passphrase as it is set. */
export const newPassphrase = (says: string) =>
  asked(says, SHORTEST, `must be a text of ${SHORTEST} to ${LONGEST} characters`);

/** A passphrase as somebody tries it: how long a good one is, is said where it is set. */
export const triedPassphrase = (says: string) => asked(says, 0, `must be a text of at most ${LONGEST} characters`);

/** What setting another passphrase takes. */
export const passphraseFields = {
  current: triedPassphrase('The passphrase as it is.'),
  passphrase: newPassphrase('The passphrase as it is to be; neither your e-mail address nor the domain.'),
};

/** What setting one answers. */
export const passphraseSetFields = { user_id: readOnlyId('Whose passphrase it is.') };

/** A passphrase on its way: the hash that was there, and the one that is to be. */
export type NewPassphrase = { readonly stored: string; readonly made: string };

/**
 * Before the transaction, since hashing takes long: is the present passphrase right, and what will be stored of the new
 * one? Wrong tries are slowed down as at signing in.
 */
export async function preparePassphrase(
  view: AccountView,
  caller: Caller,
  input: Created<typeof passphraseFields>,
  source: string,
  { passphrases, tries }: { passphrases: Passphrases; tries: LoginThrottle },
): Promise<NewPassphrase> {
  mustBeUnlike(input.passphrase, await namesOf(view, caller.userId));
  const stored = await storedOf(view, caller.userId);
  const attempt = tries.begin(`user ${caller.userId}`, `session ${caller.sessionId}`);
  const network = networkOf(source);
  const isRight = await attempt.check(() => passphrases.matches(input.current, stored, network));
  if (!isRight || stored === undefined) throw notTheCurrentOne();
  return { stored, made: await passphrases.hash(input.passphrase, network) };
}

/** Sets the passphrase and ends the user's other sessions, and links that could set another one. */
export async function changePassphrase(
  write: AccountWrite,
  caller: Caller,
  { stored, made }: NewPassphrase,
): Promise<{ user_id: number }> {
  const { userId: user_id, sessionId: except } = caller;
  if ((await storedOf(write, user_id)) !== stored) throw notTheCurrentOne();
  await storePassphrase(write, user_id, made);
  await endSessions(write, { userId: user_id, except }, 'a passphrase was set');
  await revokeInvitations(write, { userId: user_id }, 'a passphrase was set');
  return { user_id };
}

/** Sets a passphrase without asking who sets it: within `changePassphrase`, and for whoever comes by a link. */
export async function storePassphrase(write: AccountWrite, userId: number, hash: string): Promise<void> {
  await write
    .insertInto('passphrases', { user_id: userId, passphrase_hash: hash, date_modified: write.now })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet({ passphrase_hash: hash, date_modified: write.now }),
    )
    .execute();
  note(write, { action: 'passphrase.set', subject: `user ${userId}` });
}

/** What is stored of a user's passphrase; undefined before one was set. */
export async function storedOf(view: AccountView, userId: number): Promise<string | undefined> {
  const row = await view
    .selectFrom('passphrases')
    .select('passphrases.passphrase_hash')
    .where('passphrases.user_id', '=', userId)
    .executeTakeFirst();
  return row?.passphrase_hash;
}

/** What everybody would try first. */
export function mustBeUnlike(passphrase: string, names: { readonly email: string; readonly domain: string }): void {
  const plain = (text: string) => text.normalize('NFKC').trim().toLowerCase();
  if (![names.email, names.domain].map(plain).includes(plain(passphrase))) return;
  throw invalidInput([{ field: 'passphrase', message: 'must be neither your e-mail address nor the domain' }]);
}

async function namesOf(view: AccountView, userId: number): Promise<{ email: string; domain: string }> {
  return view
    .selectFrom('users')
    .innerJoin('accounts', 'accounts.account_id', 'users.account_id')
    .select(['users.email', 'accounts.domain'])
    .where('users.user_id', '=', userId)
    .executeTakeFirstOrThrow();
}

function notTheCurrentOne() {
  return invalidInput([{ field: 'current', message: 'is not your passphrase' }]);
}

export type PassphrasePorts = { readonly passphrases: Passphrases; readonly tries: LoginThrottle };

export function passphraseRoutes(ports: PassphrasePorts): readonly Route[] {
  const input = creation(passphraseFields);
  return [
    {
      method: 'PUT',
      path: '/passphrase',
      description: 'Sets another passphrase of your own, and ends your other sessions.',
      permission: undefined,
      parameters: {},
      body: input.schema,
      status: 200,
      answer: recordSchema(responseSchema(passphraseSetFields)),
      records: [],
      conditional: false,
      problems: ['too_many_tries'],
      lockMode: 'alone',
      ...prepared({
        prepare: (caller, { body }, view, source) => preparePassphrase(view, caller, input.read(body), source, ports),
        run: async (write, caller, _input, found) => ({
          body: { data: serializeRecord(passphraseSetFields, await changePassphrase(write, caller, found)) },
        }),
      }),
    },
  ];
}
