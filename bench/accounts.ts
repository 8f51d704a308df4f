import { systemClock } from '../src/clock.ts';
import { createAccount, type NewAccount } from '../src/resources/accounts/actions.ts';
import { systemRandom } from '../src/secrets.ts';
import { within } from '../test/kit/cleanup.ts';
import { openAt } from '../test/kit/database.ts';

/** An account that calls. */
export type Account = NewAccount;

/** Makes accounts in a database that no service has open yet. */
export function makeAccounts(database: string, count: number): Promise<Account[]> {
  return within(async (context) => {
    const store = await openAt(context, database);
    const accounts: Account[] = [];
    for (let turn = 1; turn <= count; turn += 1) {
      const account = { domain: `a${turn}.test`, email: `owner@a${turn}.test` };
      accounts.push(await store.write((tx) => createAccount(tx, account, systemClock.now(), systemRandom)));
    }
    return accounts;
  });
}

/** What every call of an account carries. */
export const headersOf = ({ domain, key }: Account) => ({ domain, key });
