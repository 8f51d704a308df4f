import { type Command, Option } from 'commander';
import type { User } from '../../../packages/sdk/src/people.ts';
import { askLine, askSecret } from '../input/prompt.ts';
import { CliError, stdout } from '../output/screen.ts';
import {
  addConnectionOptions,
  type Connection,
  type ConnectionFlags,
  connectionOptions,
  DEFAULT_SERVICE,
  readConnection,
  readGiven,
  withConnection,
} from './connect.ts';
import { forgetProfile, profilesFile, saveProfile } from './profiles.ts';

type Flags = ConnectionFlags & { readonly json?: true };

/** Registers the command `carillon login`. */
export function addLogin(program: Command): void {
  addConnectionOptions(program.command('login'))
    .description(
      'Save the URL of a service, a domain and a key, if the service accepts them. Prompts for the key without showing it, or reads it from standard input.',
    )
    .option('--json', 'Print JSON, for programs.')
    .action(async (flags: Flags) => {
      const given = readGiven(flags);
      const service = given.service ?? DEFAULT_SERVICE;
      const domain = given.domain ?? (await askDomain());
      const key = given.key ?? (await askSecret(`Key for ${domain} at ${service}: `));
      const connection = { service, domain, key: key.trim(), from: 'this login' };
      const user = await withConnection(connection, ({ carillon }) => carillon.user.get());
      saveProfile(given.profile, { service, domain, key: connection.key });
      printUser(flags, connection, user, { profile: given.profile, saved: profilesFile() });
    });
}

/** Registers the command `carillon logout`. */
export function addLogout(program: Command): void {
  const { flag, shape, description } = connectionOptions.profile;
  program
    .command('logout')
    .description('Delete a saved login. The key itself stays valid until it is revoked.')
    .addOption(new Option(`--${flag} <${shape}>`, description))
    .option('--json', 'Print JSON, for programs.')
    .action((flags: Flags) => {
      const { profile } = readGiven(flags);
      if (!forgetProfile(profile)) throw new CliError([`There is no profile ${profile}.`]);
      stdout.answer(flags, { profile, forgotten: true }, [`deleted: ${profile}`]);
    });
}

/** Registers the command `carillon whoami`. */
export function addWhoami(program: Command): void {
  addConnectionOptions(program.command('whoami'))
    .description('Show the service and the user of the login.')
    .option('--json', 'Print JSON, for programs.')
    .action(async (flags: Flags) => {
      const connection = readConnection(flags);
      const user = await withConnection(connection, ({ carillon }) => carillon.user.get());
      printUser(flags, connection, user, { key: `from ${connection.from}` });
    });
}

function printUser(
  flags: Flags,
  { service, domain }: Connection,
  user: User,
  more: Readonly<Record<string, string>>,
): void {
  const facts = { service, domain, user_id: user.user_id, email: user.email, role: user.role, ...more };
  const lines = Object.entries(facts).map(([name, value]) => `${name}: ${value}`);
  stdout.answer(flags, facts, lines);
}

async function askDomain(): Promise<string> {
  if (!process.stdin.isTTY) throw new CliError(['--domain (or CARILLON_DOMAIN) must be given.']);
  return (await askLine('Domain of the account: ')).toLowerCase();
}
