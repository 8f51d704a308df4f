import type { Command } from 'commander';
import { momentOf } from '../../durations.ts';
import { showMoment } from '../../http/fields/dates.ts';
import { parseId } from '../../http/fields/ids.ts';
import { permissionsOf } from '../../permissions.ts';
import { insertKey, revoke } from '../../resources/keys/actions.ts';
import { findByEmail } from '../../resources/users/users.ts';
import { systemRandom } from '../../secrets.ts';
import type { AccountWrite } from '../../store/account-scope.ts';
import { readEmail, readExpiry, readLine, readPermissions } from '../input/parse-flag.ts';
import { CliError } from '../output/cli-error.ts';
import { addDatabaseOptions, type DatabaseFlags, print, withAccount } from './open-database.ts';

type CreateFlags = DatabaseFlags & {
  domain: string;
  email: string;
  permissions?: string;
  expires?: string;
  label: string;
};
type ListFlags = DatabaseFlags & { domain: string; email?: string };

/** `carillon keys …` */
export function addKeys(program: Command): void {
  const keys = program.command('keys').description('Manage API keys of an account.');
  addDatabaseOptions(keys.command('create'))
    .description('Create a key for a user. Prints the key, which is shown only once.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--email <address>', 'The user.')
    .option('--permissions <list>', 'Permissions, such as events:read,events:write. Default: all of the user.')
    .option('--expires <duration>', 'Expiry: 30d, 12h, 4s, or YYYY-MM-DD HH:MM:SS in UTC. Default: never.')
    .option('--label <text>', 'Purpose of the key.', '')
    .action(createKey);
  addDatabaseOptions(keys.command('list'))
    .description('List the keys of an account, without their secrets.')
    .requiredOption('--domain <host>', 'The account.')
    .option('--email <address>', 'Only this user.')
    .action(listKeys);
  addDatabaseOptions(keys.command('revoke'))
    .description('Revoke a key, effective immediately.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--id <id>', 'The key.')
    .action(async (flags: DatabaseFlags & { domain: string; id: string }) => {
      const done = await withAccount(flags, (write) => revoke(write, parseId(flags.id) ?? 0));
      if (!done) throw new CliError([`There is no live key ${flags.id} in ${flags.domain}.`]);
      print(flags, { id: flags.id, revoked: true }, [`revoked: ${flags.id}`]);
    });
}

async function createKey(flags: CreateFlags): Promise<void> {
  const expiry = readExpiry(flags.expires);
  const wanted = flags.permissions === undefined ? undefined : readPermissions(flags.permissions);
  const issued = await withAccount(flags, async (write) => {
    const user = await findUser(write, flags.email);
    const widest = permissionsOf(user.role);
    const wider = (wanted ?? []).filter((permission) => !widest.includes(permission));
    if (wider.length > 0) throw new CliError([`--permissions: a ${user.role} may not have ${wider.join(', ')}.`]);
    const key = {
      userId: user.user_id,
      label: readLine('--label', flags.label, 255),
      permissions: wanted ?? widest,
      expiresAt: momentOf(expiry, write.now),
    };
    return insertKey(write, key, systemRandom);
  });
  print(flags, { id: String(issued.id), key: issued.key }, [`id: ${issued.id}`, `key: ${issued.key}`]);
}

async function listKeys(flags: ListFlags): Promise<void> {
  const rows = await withAccount(flags, async (write) => {
    const user = flags.email === undefined ? undefined : await findUser(write, flags.email);
    let query = write
      .selectFrom('api_keys')
      .innerJoin('users', 'users.user_id', 'api_keys.user_id')
      .selectAll('api_keys')
      .select('users.email');
    if (user !== undefined) query = query.where('api_keys.user_id', '=', user.user_id);
    return query.orderBy('api_keys.key_id').execute();
  });
  const listed = rows.map((row) => ({
    id: String(row.key_id),
    email: row.email,
    label: row.label,
    permissions: row.permissions.split(',').filter((one) => one !== ''),
    date_created: showMoment(row.date_created),
    last_used: showMoment(row.last_used),
    expires: showMoment(row.expires_at),
    revoked: row.revoked_at !== null,
  }));
  const lines = listed.map((row) => [
    row.id,
    row.email,
    row.label,
    row.revoked ? 'revoked' : 'live',
    `last used ${row.last_used}`,
  ]);
  print(flags, listed, lines);
}

async function findUser(write: AccountWrite, email: string) {
  const user = await findByEmail(write, readEmail(email));
  if (user === undefined) throw new CliError([`The account has no user with ${email}.`]);
  return user;
}
