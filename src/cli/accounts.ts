import type { Command } from 'commander';
import { systemClock } from '../clock.ts';
import { createAccount, parseDomain } from '../resources/accounts/actions.ts';
import { systemChance } from '../secrets.ts';
import { removeMoved } from '../transfer/remove.ts';
import { addDatabaseOptions, type DatabaseFlags, print, withStore, withStoreAlone } from './database.ts';
import { readEmail } from './input.ts';
import { addProgressOption, type ProgressFlags, progressOf } from './progress.ts';
import { Refusal } from './refusal.ts';

/** `carillon accounts …` */
export function addAccounts(program: Command): void {
  const accounts = program.command('accounts').description('Accounts of the service.');
  addDatabaseOptions(accounts.command('create'))
    .description("Create an account with its owner; prints the owner's key, this once.")
    .requiredOption('--domain <host>', "The account's host name, which its callers send in the header domain.")
    .requiredOption('--email <address>', 'The e-mail address of its owner.')
    .action(async (flags: DatabaseFlags & { domain: string; email: string }) => {
      const domain = parseDomain(flags.domain);
      if (domain === undefined)
        throw new Refusal([`--domain must be a host name, such as acme.example; ${flags.domain} is none.`]);
      const email = readEmail(flags.email);
      const account = await withStore(flags, (store) =>
        store.write((tx) => createAccount(tx, { domain, email }, systemClock.now(), systemChance)),
      );
      print(flags, { ...account, user_id: String(account.user_id) }, [
        `domain: ${account.domain}`,
        `user: ${account.user_id}`,
        `key: ${account.key}`,
      ]);
    });
  addProgressOption(addDatabaseOptions(accounts.command('delete')))
    .description('Remove an account that was moved to another service, all of it, the service stopped.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--exported <file>', 'What carillon export wrote of it: only what stands in it is removed.')
    .action(deleteAccount);
}

async function deleteAccount(flags: ProgressFlags & { domain: string; exported: string }): Promise<void> {
  const ports = { clock: systemClock, progress: progressOf(flags) };
  const rows = await withStoreAlone(flags, (store) => removeMoved({ ...ports, store }, flags.exported, flags.domain));
  print(flags, { domain: flags.domain, rows }, [`removed: ${flags.domain}, ${rows} rows`]);
}
