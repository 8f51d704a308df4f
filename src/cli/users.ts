import type { Command } from 'commander';
import { record } from '../delivery/record.ts';
import { findByEmail, insertUser } from '../resources/users/actions.ts';
import { addDatabaseOptions, type DatabaseFlags, print, withAccount } from './database.ts';
import { readEmail, readLine, readRole } from './input.ts';
import { Refusal } from './refusal.ts';

type CreateFlags = DatabaseFlags & { domain: string; email: string; role: string; firstName: string; lastName: string };

/** `carillon users …` */
export function addUsers(program: Command): void {
  const users = program.command('users').description('Users of an account.');
  addDatabaseOptions(users.command('create'))
    .description('Add a user to an account.')
    .requiredOption('--domain <host>', 'The account.')
    .requiredOption('--email <address>', 'The e-mail address.')
    .option('--role <role>', 'member, admin or owner.', 'member')
    .option('--first-name <name>', 'First name.', '')
    .option('--last-name <name>', 'Last name.', '')
    .action(async (flags: CreateFlags) => {
      const email = readEmail(flags.email);
      const role = readRole(flags.role);
      const user = await withAccount(flags, async (write) => {
        if ((await findByEmail(write, email)) !== undefined)
          throw new Refusal([`The account has a user with ${email} already.`]);
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
}
