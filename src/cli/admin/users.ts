import type { Command } from 'commander';
import { record } from '../../delivery/outbox/record-occurrences.ts';
import { showMoment } from '../../http/fields/dates.ts';
import { insertInvitation, linkTo } from '../../resources/invitations/invitations.ts';
import { findByEmail, insertUser } from '../../resources/users/users.ts';
import { systemRandom } from '../../secrets.ts';
import { addBaseUrlOption, type BaseUrlFlags, readBaseUrl } from '../client/base-url.ts';
import { readEmail, readLine, readRole } from '../input/parse-flag.ts';
import { CliError } from '../output/cli-error.ts';
import { addDatabaseOptions, type DatabaseFlags, print, withAccount } from './open-database.ts';

type InviteFlags = DatabaseFlags & BaseUrlFlags & { domain: string; email: string };
type UserFlags = DatabaseFlags & { domain: string; email: string; role: string; firstName: string; lastName: string };

/** `carillon users …` */
export function addUsers(program: Command): void {
  const users = program.command('users').description('Manage users of an account.');
  addDatabaseOptions(users.command('create'))
    .description('Add a user to an account.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--email <address>', 'E-mail address.')
    .option('--role <role>', 'member, admin or owner.', 'member')
    .option('--first-name <name>', 'First name.', '')
    .option('--last-name <name>', 'Last name.', '')
    .action(async (flags: UserFlags) => {
      const email = readEmail(flags.email);
      const role = readRole(flags.role);
      const user = await withAccount(flags, async (write) => {
        if ((await findByEmail(write, email)) !== undefined)
          throw new CliError([`The account already has a user with ${email}.`]);
        const created = await insertUser(write, {
          email,
          role,
          first_name: readLine('--first-name', flags.firstName, 100),
          last_name: readLine('--last-name', flags.lastName, 100),
        });
        record(write, [{ kind: 'new_user', recordId: created.user_id, userId: created.user_id }]);
        return created;
      });
      print(flags, { user_id: String(user.user_id) }, [`user: ${user.user_id}`]);
    });
  addBaseUrlOption(addDatabaseOptions(users.command('invite')))
    .description('Print a link with which a user sets a passphrase for the console.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--email <address>', 'The user.')
    .action(invite);
}

/** Creates an invitation, which replaces earlier ones. The user's passphrase and sessions stay valid until it is used. */
async function invite(flags: InviteFlags): Promise<void> {
  const baseUrl = readBaseUrl(flags);
  const email = readEmail(flags.email);
  const { token, expires_at } = await withAccount(flags, async (write) => {
    const user = await findByEmail(write, email);
    if (user === undefined) throw new CliError([`The account has no user with ${email}.`]);
    return insertInvitation(write, user.user_id, systemRandom);
  });
  const invitation = { link: linkTo(baseUrl, token), expires: showMoment(expires_at) };
  print(flags, invitation, [`link: ${invitation.link}`, `expires: ${invitation.expires}`]);
}
