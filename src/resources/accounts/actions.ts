import { note } from '../../audit/actions.ts';
import { isZone } from '../../ical/zone.ts';
import { type Actor, COMMAND_LINE, FIRST_START, permissions } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import type { Random } from '../../secrets.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { Queries, Tx } from '../../store/store.ts';
import { insertInvitation } from '../invitations/invitations.ts';
import { insertKey } from '../keys/actions.ts';
import { insertUser } from '../users/users.ts';

/** A new account: its domain, its owner, and the owner's first key, which is shown this once. */
export type NewAccount = { readonly domain: string; readonly user_id: number; readonly key: string };

/** The account that a first start makes: its owner comes in by a link, which is shown this once. */
export type FirstAccount = NewAccount & { readonly token: string };

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Reads a host name for an account, in lower case; undefined if it is none. */
export function parseDomain(text: string): string | undefined {
  const domain = text.trim().toLowerCase();
  return domain.length <= 253 && domain.split('.').every((label) => LABEL.test(label)) ? domain : undefined;
}

/** Reads the name of a time zone; undefined if it is none. */
export function parseZone(text: string): string | undefined {
  return isZone(text) ? text : undefined;
}

/** Creates an account with its owner and a key that may do everything. A domain that is taken: `domain_taken`. */
export async function createAccount(
  tx: Tx,
  account: { domain: string; email: string },
  now: number,
  random: Random,
): Promise<NewAccount> {
  return (await makeAccount(tx, account, now, random, COMMAND_LINE)).made;
}

async function makeAccount(
  tx: Tx,
  account: { domain: string; email: string },
  now: number,
  random: Random,
  by: Actor,
): Promise<{ made: NewAccount; write: AccountWrite }> {
  const { domain, email } = account;
  const created = await tx.queries
    .insertInto('accounts')
    .values({ domain, company_name: domain, date_created: now })
    .onConflict((conflict) => conflict.column('domain').doNothing())
    .returning('account_id')
    .executeTakeFirst();
  if (created === undefined) throw new Problem('domain_taken');
  const write = new AccountWrite(tx, created.account_id, now, 'alone', by);
  await write.insertInto('positions', { position: 0 }).execute();
  note(write, { action: 'account.created', subject: `account ${domain}` });
  const { user_id } = await insertUser(write, { email, first_name: 'Account', last_name: 'Owner', role: 'owner' });
  const { key } = await insertKey(write, { userId: user_id, label: 'first key', permissions, expiresAt: null }, random);
  return { made: { domain, user_id, key: key ?? '' }, write };
}

export type AccountChange = { readonly company_name?: string; readonly time_zone?: string };

/** Changes what an account is called, and where its times are meant; what is left out stays. Answers how it is now. */
export async function changeAccount(
  write: AccountWrite,
  { company_name, time_zone }: AccountChange,
): Promise<Required<AccountChange> & { readonly domain: string }> {
  const { domain, ...before } = await write
    .selectFrom('accounts')
    .select(['accounts.domain', 'accounts.company_name', 'accounts.time_zone'])
    .executeTakeFirstOrThrow();
  const after = {
    company_name: company_name ?? before.company_name,
    time_zone: time_zone ?? before.time_zone,
  };
  await write.updateTable('accounts').set(after).execute();
  note(write, { action: 'account.changed', subject: `account ${domain}`, detail: after });
  return { domain, ...after };
}

/** The id of the account with this domain, or undefined. */
export async function findAccount(read: Queries, domain: string): Promise<number | undefined> {
  const row = await read
    .selectFrom('accounts')
    .select('account_id')
    .where('domain', '=', domain.toLowerCase())
    .executeTakeFirst();
  return row?.account_id;
}

/** Ids begin with 1. */
const NO_ACCOUNT = 0;

/** What a database without accounts begins with; undefined where there is one already. */
export async function createFirstAccount(tx: Tx, now: number, random: Random): Promise<FirstAccount | undefined> {
  // Nodes that begin at once take turns: the others find the account of the first one.
  tx.lockAccount(NO_ACCOUNT, 'alone');
  const any = await tx.queries.selectFrom('accounts').select('account_id').limit(1).executeTakeFirst();
  if (any !== undefined) return undefined;
  const account = { domain: 'carillon.localhost', email: 'owner@carillon.localhost' };
  const { made, write } = await makeAccount(tx, account, now, random, FIRST_START);
  const { token } = await insertInvitation(write, made.user_id, random);
  return { ...made, token };
}
