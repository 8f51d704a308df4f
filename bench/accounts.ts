import { systemClock } from '../src/clock.ts';
import { createAccount, type NewAccount } from '../src/resources/accounts/actions.ts';
import { systemRandom } from '../src/secrets.ts';
import { withCleanup } from '../test/kit/cleanup.ts';
import { openStoreAt } from '../test/kit/database/database.ts';

/** An account with the credentials of its owner. */
export type AccountCredentials = NewAccount;

/** Creates accounts in a database that no service has open. */
export function createAccounts(database: string, count: number): Promise<AccountCredentials[]> {
  return withCleanup(async (context) => {
    const store = await openStoreAt(context, database);
    const accounts: AccountCredentials[] = [];
    for (let number = 1; number <= count; number += 1) {
      const account = { domain: `a${number}.test`, email: `owner@a${number}.test` };
      accounts.push(await store.write((tx) => createAccount(tx, account, systemClock.now(), systemRandom)));
    }
    return accounts;
  });
}

/** The headers that authenticate each request of an account. */
export const authHeaders = ({ domain, key }: AccountCredentials) => ({ domain, key });
