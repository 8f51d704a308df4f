import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import { recordOccurrences } from '../../delivery/outbox/record-occurrences.ts';
import { computeExpiryTimestamp } from '../../durations.ts';
import { formatTimestamp } from '../../http/fields/dates.ts';
import { parseId } from '../../http/fields/field.ts';
import { permissionsOf } from '../../permissions.ts';
import { changeAccount, createAccount, parseDomain, parseTimeZone } from '../../resources/accounts/actions.ts';
import { buildInvitationLink, insertInvitation } from '../../resources/invitations/invitations.ts';
import { insertKey, revokeLiveKey } from '../../resources/keys/keys.ts';
import { findUserByEmail, insertUser } from '../../resources/users/users.ts';
import { systemRandom } from '../../secrets.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import { removeExportedAccount } from '../../transfer/remove.ts';
import { addBaseUrlOption, type BaseUrlFlags, readBaseUrl } from '../client/connection-options.ts';
import { readEmail, readExpiry, readPermissions, readPlainText, readRole } from '../input/parse-flag.ts';
import { addProgressOption, createProgressFromFlags, type ProgressFlags } from '../output/progress.ts';
import { CliError } from '../output/screen.ts';
import {
  addDatabaseOptions,
  type DatabaseFlags,
  printResult,
  withAccount,
  withExclusiveStore,
  withStore,
} from './open-database.ts';

type AccountUpdateFlags = DatabaseFlags & { domain: string; companyName?: string; timeZone?: string };

/** Registers the commands `carillon accounts …`. */
export function addAccountCommands(program: Command): void {
  const accountsCommand = program.command('accounts').description('Manage accounts.');
  addDatabaseOptions(accountsCommand.command('create'))
    .description("Create an account and its owner. Prints the owner's key, which is shown only once.")
    .requiredOption('--domain <host>', 'Host name of the account. Callers send it in the header domain.')
    .requiredOption('--email <address>', 'E-mail address of the owner.')
    .action(async (flags: DatabaseFlags & { domain: string; email: string }) => {
      const domain = parseDomain(flags.domain);
      if (domain === undefined)
        throw new CliError([`--domain must be a host name, such as acme.example; ${flags.domain} is not one.`]);
      const email = readEmail(flags.email);
      const createdAccount = await withStore(flags, (store) =>
        store.write((tx) => createAccount(tx, { domain, email }, systemClock.now(), systemRandom)),
      );
      printResult(flags, { ...createdAccount, user_id: String(createdAccount.user_id) }, [
        `domain: ${createdAccount.domain}`,
        `user: ${createdAccount.user_id}`,
        `key: ${createdAccount.key}`,
      ]);
    });
  addDatabaseOptions(accountsCommand.command('update'))
    .description('Change the company name or the time zone of an account.')
    .requiredOption('--domain <host>', 'The account.')
    .option('--company-name <text>', 'Company name.')
    .option('--time-zone <name>', 'Time zone of calendars and imports, such as Europe/Zurich; UTC for none.')
    .action(updateAccount);
  addProgressOption(addDatabaseOptions(accountsCommand.command('delete')))
    .description('Delete an account that was moved to another service. Stop the service first.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--exported <file>', 'The export of the account. Only the rows in it are deleted.')
    .action(deleteAccount);
}

async function updateAccount(flags: AccountUpdateFlags): Promise<void> {
  const { companyName, timeZone } = flags;
  if (companyName === undefined && timeZone === undefined)
    throw new CliError(['Give --company-name, --time-zone or both.']);
  if (timeZone !== undefined && parseTimeZone(timeZone) === undefined)
    throw new CliError([`--time-zone must be the name of a time zone, such as Europe/Zurich; ${timeZone} is not one.`]);
  const accountChanges = {
    ...(companyName === undefined ? {} : { company_name: readPlainText('--company-name', companyName, 255) }),
    ...(timeZone === undefined ? {} : { time_zone: timeZone }),
  };
  const updatedAccount = await withAccount(flags, (write) => changeAccount(write, accountChanges));
  printResult(flags, updatedAccount, [
    `domain: ${updatedAccount.domain}`,
    `company name: ${updatedAccount.company_name}`,
    `time zone: ${updatedAccount.time_zone}`,
  ]);
}

async function deleteAccount(flags: ProgressFlags & { domain: string; exported: string }): Promise<void> {
  const transferDeps = { clock: systemClock, progress: createProgressFromFlags(flags) };
  const removedRowCount = await withExclusiveStore(flags, (store) =>
    removeExportedAccount({ ...transferDeps, store }, flags.exported, flags.domain),
  );
  printResult(flags, { domain: flags.domain, rows: removedRowCount }, [
    `removed: ${flags.domain}, ${removedRowCount} rows`,
  ]);
}

type InviteFlags = DatabaseFlags & BaseUrlFlags & { domain: string; email: string };
type UserCreateFlags = DatabaseFlags & {
  domain: string;
  email: string;
  role: string;
  firstName: string;
  lastName: string;
};

/** Registers the commands `carillon users …`. */
export function addUserCommands(program: Command): void {
  const usersCommand = program.command('users').description('Manage users of an account.');
  addDatabaseOptions(usersCommand.command('create'))
    .description('Add a user to an account.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--email <address>', 'E-mail address.')
    .option('--role <role>', 'member, admin or owner.', 'member')
    .option('--first-name <name>', 'First name.', '')
    .option('--last-name <name>', 'Last name.', '')
    .action(async (flags: UserCreateFlags) => {
      const email = readEmail(flags.email);
      const role = readRole(flags.role);
      const user = await withAccount(flags, async (write) => {
        if ((await findUserByEmail(write, email)) !== undefined)
          throw new CliError([`The account already has a user with ${email}.`]);
        const createdUser = await insertUser(write, {
          email,
          role,
          first_name: readPlainText('--first-name', flags.firstName, 100),
          last_name: readPlainText('--last-name', flags.lastName, 100),
        });
        recordOccurrences(write, [{ kind: 'new_user', recordId: createdUser.user_id, userId: createdUser.user_id }]);
        return createdUser;
      });
      printResult(flags, { user_id: String(user.user_id) }, [`user: ${user.user_id}`]);
    });
  addBaseUrlOption(addDatabaseOptions(usersCommand.command('invite')))
    .description('Print a link with which a user sets a passphrase for the console.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--email <address>', 'The user.')
    .action(createInvitation);
}

/**
 * Creates an invitation and revokes the user's earlier ones. The user's passphrase and sessions stay valid until the
 * invitation is used.
 */
async function createInvitation(flags: InviteFlags): Promise<void> {
  const baseUrl = readBaseUrl(flags);
  const email = readEmail(flags.email);
  const { token, expires_at } = await withAccount(flags, async (write) => {
    const user = await findUserByEmail(write, email);
    if (user === undefined) throw new CliError([`The account has no user with ${email}.`]);
    return insertInvitation(write, user.user_id, systemRandom);
  });
  const invitation = { link: buildInvitationLink(baseUrl, token), expires: formatTimestamp(expires_at) };
  printResult(flags, invitation, [`link: ${invitation.link}`, `expires: ${invitation.expires}`]);
}

type KeyCreateFlags = DatabaseFlags & {
  domain: string;
  email: string;
  permissions?: string;
  expires?: string;
  label: string;
};
type KeyListFlags = DatabaseFlags & { domain: string; email?: string };

/** Registers the commands `carillon keys …`. */
export function addKeyCommands(program: Command): void {
  const keysCommand = program.command('keys').description('Manage API keys of an account.');
  addDatabaseOptions(keysCommand.command('create'))
    .description('Create a key for a user. Prints the key, which is shown only once.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--email <address>', 'The user.')
    .option('--permissions <list>', 'Permissions, such as events:read,events:write. Default: all of the user.')
    .option('--expires <duration>', 'Expiry: 30d, 12h, 4s, or YYYY-MM-DD HH:MM:SS in UTC. Default: never.')
    .option('--label <text>', 'Purpose of the key.', '')
    .action(createKey);
  addDatabaseOptions(keysCommand.command('list'))
    .description('List the keys of an account, without their secrets.')
    .requiredOption('--domain <host>', 'The account.')
    .option('--email <address>', 'Only this user.')
    .action(listKeys);
  addDatabaseOptions(keysCommand.command('revoke'))
    .description('Revoke a key, effective immediately.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--id <id>', 'The key.')
    .action(async (flags: DatabaseFlags & { domain: string; id: string }) => {
      const isRevoked = await withAccount(flags, (write) => revokeLiveKey(write, parseId(flags.id) ?? 0));
      if (!isRevoked) throw new CliError([`There is no live key ${flags.id} in ${flags.domain}.`]);
      printResult(flags, { id: flags.id, revoked: true }, [`revoked: ${flags.id}`]);
    });
}

async function createKey(flags: KeyCreateFlags): Promise<void> {
  const expiry = readExpiry(flags.expires);
  const requestedPermissions = flags.permissions === undefined ? undefined : readPermissions(flags.permissions);
  const issuedKey = await withAccount(flags, async (write) => {
    const user = await requireUser(write, flags.email);
    const rolePermissions = permissionsOf(user.role);
    const excessPermissions = (requestedPermissions ?? []).filter(
      (permission) => !rolePermissions.includes(permission),
    );
    if (excessPermissions.length > 0)
      throw new CliError([`--permissions: a ${user.role} may not have ${excessPermissions.join(', ')}.`]);
    const keyInput = {
      userId: user.user_id,
      label: readPlainText('--label', flags.label, 255),
      permissions: requestedPermissions ?? rolePermissions,
      expiresAt: computeExpiryTimestamp(expiry, write.now),
    };
    return insertKey(write, keyInput, systemRandom);
  });
  printResult(flags, { id: String(issuedKey.id), key: issuedKey.key }, [
    `id: ${issuedKey.id}`,
    `key: ${issuedKey.key}`,
  ]);
}

async function listKeys(flags: KeyListFlags): Promise<void> {
  const rows = await withAccount(flags, async (write) => {
    const user = flags.email === undefined ? undefined : await requireUser(write, flags.email);
    let query = write
      .selectFrom('api_keys')
      .innerJoin('users', 'users.user_id', 'api_keys.user_id')
      .selectAll('api_keys')
      .select('users.email');
    if (user !== undefined) query = query.where('api_keys.user_id', '=', user.user_id);
    return query.orderBy('api_keys.key_id').execute();
  });
  const listedKeys = rows.map((row) => ({
    id: String(row.key_id),
    email: row.email,
    label: row.label,
    permissions: row.permissions.split(',').filter((permission) => permission !== ''),
    date_created: formatTimestamp(row.date_created),
    last_used: formatTimestamp(row.last_used),
    expires: formatTimestamp(row.expires_at),
    revoked: row.revoked_at !== null,
  }));
  const lines = listedKeys.map((listedKey) => [
    listedKey.id,
    listedKey.email,
    listedKey.label,
    listedKey.revoked ? 'revoked' : 'live',
    `last used ${listedKey.last_used}`,
  ]);
  printResult(flags, listedKeys, lines);
}

async function requireUser(write: AccountWrite, email: string) {
  const user = await findUserByEmail(write, readEmail(email));
  if (user === undefined) throw new CliError([`The account has no user with ${email}.`]);
  return user;
}
