import { writeAuditEntries } from '../../audit/actions.ts';
import { isZoneName } from '../../ical/zone.ts';
import { type Actor, COMMAND_LINE_ACTOR, FIRST_START_ACTOR, permissions } from '../../permissions.ts';
import { Problem } from '../../problems.ts';
import type { Random } from '../../secrets.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { Queries, Tx } from '../../store/store.ts';
import { insertInvitation } from '../invitations/invitations.ts';
import { insertKey } from '../keys/keys.ts';
import { insertUser } from '../users/users.ts';

/** A new account: its domain, its owner and the owner's first key. The key is returned only once. */
export type NewAccount = { readonly domain: string; readonly user_id: number; readonly key: string };

/**
 * The account created at the first start, with the token of the owner's invitation. The token is returned only once.
 */
export type FirstAccount = NewAccount & { readonly invitationToken: string };

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Parses a host name and converts it to lower case; returns undefined if the text is not a host name. */
export function parseDomain(text: string): string | undefined {
  const domain = text.trim().toLowerCase();
  return domain.length <= 253 && domain.split('.').every((label) => DNS_LABEL.test(label)) ? domain : undefined;
}

/** Parses an IANA time zone name; returns undefined if the name is unknown. */
export function parseTimeZone(text: string): string | undefined {
  return isZoneName(text) ? text : undefined;
}

/** Creates an account with its owner and a key that has all permissions. Throws `domain_taken` if the domain exists. */
export async function createAccount(
  tx: Tx,
  account: { domain: string; email: string },
  now: number,
  random: Random,
): Promise<NewAccount> {
  return (await insertAccount(tx, account, now, random, COMMAND_LINE_ACTOR)).account;
}

async function insertAccount(
  tx: Tx,
  { domain, email }: { domain: string; email: string },
  now: number,
  random: Random,
  actor: Actor,
): Promise<{ account: NewAccount; write: AccountWrite }> {
  const createdAccount = await tx.queries
    .insertInto('accounts')
    .values({ domain, company_name: domain, date_created: now })
    .onConflict((conflict) => conflict.column('domain').doNothing())
    .returning('account_id')
    .executeTakeFirst();
  if (createdAccount === undefined) throw new Problem('domain_taken');
  const write = new AccountWrite(tx, createdAccount.account_id, now, 'exclusive', actor);
  await write.insertInto('positions', { position: 0 }).execute();
  writeAuditEntries(write, { action: 'account.created', subject: `account ${domain}` });
  const { user_id } = await insertUser(write, { email, first_name: 'Account', last_name: 'Owner', role: 'owner' });
  const { key } = await insertKey(write, { userId: user_id, label: 'first key', permissions, expiresAt: null }, random);
  return { account: { domain, user_id, key: key ?? '' }, write };
}

type AccountChange = { readonly company_name?: string; readonly time_zone?: string };

/** Changes the company name and time zone of an account; undefined fields stay as they are. Returns the new values. */
export async function changeAccount(
  write: AccountWrite,
  { company_name, time_zone }: AccountChange,
): Promise<Required<AccountChange> & { readonly domain: string }> {
  const { domain, ...before } = await write
    .selectFrom('accounts')
    .select(['accounts.domain', 'accounts.company_name', 'accounts.time_zone'])
    .executeTakeFirstOrThrow();
  const newValues = {
    company_name: company_name ?? before.company_name,
    time_zone: time_zone ?? before.time_zone,
  };
  await write.updateTable('accounts').set(newValues).execute();
  writeAuditEntries(write, { action: 'account.changed', subject: `account ${domain}`, detail: newValues });
  return { domain, ...newValues };
}

/** Finds the id of the account with this domain, ignoring case; undefined if there is no such account. */
export async function findAccountId(queries: Queries, domain: string): Promise<number | undefined> {
  const row = await queries
    .selectFrom('accounts')
    .select('account_id')
    .where('domain', '=', domain.toLowerCase())
    .executeTakeFirst();
  return row?.account_id;
}

/** An id that no account has, because ids begin at 1. The lock on this id serializes concurrent first starts. */
const NO_ACCOUNT_ID = 0;

/** Creates the first account of a database. Returns undefined if the database already has an account. */
export async function createFirstAccount(tx: Tx, now: number, random: Random): Promise<FirstAccount | undefined> {
  // Nodes that start concurrently wait for each other here. The later nodes find the account that the first node
  // created.
  tx.lockAccount(NO_ACCOUNT_ID, 'exclusive');
  const existingAccount = await tx.queries.selectFrom('accounts').select('account_id').limit(1).executeTakeFirst();
  if (existingAccount !== undefined) return undefined;
  const defaultAccount = { domain: 'carillon.localhost', email: 'owner@carillon.localhost' };
  const { account: createdAccount, write } = await insertAccount(tx, defaultAccount, now, random, FIRST_START_ACTOR);
  const { token } = await insertInvitation(write, createdAccount.user_id, random);
  return { ...createdAccount, invitationToken: token };
}
