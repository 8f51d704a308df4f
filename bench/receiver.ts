import { once } from 'node:events';
import { systemClock } from '../src/clock.ts';
import { createAccount, type NewAccount } from '../src/resources/accounts/actions.ts';
import { systemRandom } from '../src/secrets.ts';
import { within } from '../test/kit/cleanup.ts';
import { openAt } from '../test/kit/database/database.ts';
import type { Program } from './environment.ts';
import type { Report } from './receiver-process.ts';

/** A webhook receiver in a child process that records arrivals. */
export class Receiver {
  readonly url: string;
  readonly #program: Program;

  constructor(program: Program) {
    this.url = program.url;
    this.#program = program;
  }

  get pid(): number | undefined {
    return this.#program.process.pid;
  }

  /** Returns the arrivals since the last report. */
  async report(): Promise<Report> {
    const { process } = this.#program;
    const response = once(process, 'message');
    process.send({ is: 'report' });
    const [report] = await response;
    return report as Report;
  }
}

/** An account with the credentials of its owner. */
export type Account = NewAccount;

/** Creates accounts in a database that no service has open. */
export function makeAccounts(database: string, count: number): Promise<Account[]> {
  return within(async (context) => {
    const store = await openAt(context, database);
    const accounts: Account[] = [];
    for (let number = 1; number <= count; number += 1) {
      const account = { domain: `a${number}.test`, email: `owner@a${number}.test` };
      accounts.push(await store.write((tx) => createAccount(tx, account, systemClock.now(), systemRandom)));
    }
    return accounts;
  });
}

/** The headers of every request of an account. */
export const headersOf = ({ domain, key }: Account) => ({ domain, key });
