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
  const accounts = program.command('accounts').description('Manage accounts.');
  addDatabaseOptions(accounts.command('create'))
    .description("Create an account and its owner. Prints the owner's key, which is shown only once.")
    .requiredOption('--domain <host>', 'Host name of the account. Callers send it in the header domain.')
    .requiredOption('--email <address>', 'E-mail address of the owner.')
    .action(async (flags: DatabaseFlags & { domain: string; email: string }) => {
      const domain = parseDomain(flags.domain);
      if (domain === undefined)
        throw new CliError([`--domain must be a host name, such as acme.example; ${flags.domain} is not one.`]);
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
    .description('Change the company name or the time zone of an account.')
    .requiredOption('--domain <host>', 'The account.')
    .option('--company-name <text>', 'Company name.')
    .option('--time-zone <name>', 'Time zone of calendars and imports, such as Europe/Zurich; UTC for none.')
    .action(updateAccount);
  addProgressOption(addDatabaseOptions(accounts.command('delete')))
    .description('Delete an account that was moved to another service. Stop the service first.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--exported <file>', 'The export of the account. Only the rows in it are deleted.')
    .action(deleteAccount);
}

async function updateAccount(flags: UpdateFlags): Promise<void> {
  const { companyName, timeZone } = flags;
  if (companyName === undefined && timeZone === undefined)
    throw new CliError(['Give --company-name, --time-zone or both.']);
  if (timeZone !== undefined && parseZone(timeZone) === undefined)
    throw new CliError([`--time-zone must be the name of a time zone, such as Europe/Zurich; ${timeZone} is not one.`]);
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
