import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import { changeAccount, createAccount, parseDomain, parseZone } from '../../resources/accounts/actions.ts';
import { systemRandom } from '../../secrets.ts';
import { removeMoved } from '../../transfer/remove.ts';
import { readEmail, readLine } from '../input/parse-flag.ts';
import { CliError } from '../output/cli-error.ts';
import { addProgressOption, type ProgressFlags, progressOf } from '../output/progress.ts';
import {
  addDatabaseOptions,
  type DatabaseFlags,
  print,
  withAccount,
  withStore,
  withStoreAlone,
} from './open-database.ts';

type UpdateFlags = DatabaseFlags & { domain: string; companyName?: string; timeZone?: string };

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
        throw new CliError([`--domain must be a host name, such as acme.example; ${flags.domain} is none.`]);
      const email = readEmail(flags.email);
      const account = await withStore(flags, (store) =>
        store.write((tx) => createAccount(tx, { domain, email }, systemClock.now(), systemRandom)),
      );
      print(flags, { ...account, user_id: String(account.user_id) }, [
        `domain: ${account.domain}`,
        `user: ${account.user_id}`,
        `key: ${account.key}`,
      ]);
    });
  addDatabaseOptions(accounts.command('update'))
    .description('Change what an account is called, or the zone that its times are meant in.')
    .requiredOption('--domain <host>', 'The account.')
    .option('--company-name <text>', 'What it is called.')
    .option('--time-zone <name>', 'The zone of its calendars and imports, such as Europe/Zurich; UTC for none.')
    .action(updateAccount);
  addProgressOption(addDatabaseOptions(accounts.command('delete')))
    .description('Remove an account that was moved to another service, all of it, the service stopped.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--exported <file>', 'What carillon export wrote of it: only what stands in it is removed.')
    .action(deleteAccount);
}

async function updateAccount(flags: UpdateFlags): Promise<void> {
  const { companyName, timeZone } = flags;
  if (companyName === undefined && timeZone === undefined)
    throw new CliError(['Say what is to change, with --company-name, --time-zone or both.']);
  if (timeZone !== undefined && parseZone(timeZone) === undefined)
    throw new CliError([`--time-zone must be the name of a time zone, such as Europe/Zurich; ${timeZone} is none.`]);
  const change = {
    ...(companyName === undefined ? {} : { company_name: readLine('--company-name', companyName, 255) }),
    ...(timeZone === undefined ? {} : { time_zone: timeZone }),
  };
  const account = await withAccount(flags, (write) => changeAccount(write, change));
  print(flags, account, [
    `domain: ${account.domain}`,
    `company name: ${account.company_name}`,
    `time zone: ${account.time_zone}`,
  ]);
}

async function deleteAccount(flags: ProgressFlags & { domain: string; exported: string }): Promise<void> {
  const ports = { clock: systemClock, progress: progressOf(flags) };
  const rows = await withStoreAlone(flags, (store) => removeMoved({ ...ports, store }, flags.exported, flags.domain));
  print(flags, { domain: flags.domain, rows }, [`removed: ${flags.domain}, ${rows} rows`]);
}
