import { type Command, Option } from 'commander';
import type { User } from '../../../packages/sdk/src/people.ts';
import { askLine, askSecret } from '../input/prompt.ts';
import { CliError, stdout } from '../output/screen.ts';
import {
  type ConnectionSettings,
  DEFAULT_SERVICE_URL,
  readConnectionInput,
  readConnectionSettings,
  withConnection,
} from './connect.ts';
import { addConnectionOptions, type ConnectionFlags, connectionOptions } from './connection-options.ts';
import { deleteProfile, getProfilesFilePath, saveProfile } from './profiles.ts';

type LoginFlags = ConnectionFlags & { readonly json?: true };

/** Registers the command `carillon login`. */
export function addLoginCommand(program: Command): void {
  addConnectionOptions(program.command('login'))
    .description(
      'Save the URL of a service, a domain and a key, if the service accepts them. Prompts for the key without showing it, or reads it from standard input.',
    )
    .option('--json', 'Print JSON, for programs.')
    .action(async (flags: LoginFlags) => {
      const connectionInput = readConnectionInput(flags);
      const serviceUrl = connectionInput.service ?? DEFAULT_SERVICE_URL;
      const domain = connectionInput.domain ?? (await askDomain());
      const key = connectionInput.key ?? (await askSecret(`Key for ${domain} at ${serviceUrl}: `));
      const connection = { service: serviceUrl, domain, key: key.trim(), keySource: 'this login' };
      const user = await withConnection(connection, ({ carillon }) => carillon.user.get());
      saveProfile(connectionInput.profile, { service: serviceUrl, domain, key: connection.key });
      printUser(flags, connection, user, { profile: connectionInput.profile, saved: getProfilesFilePath() });
    });
}

/** Registers the command `carillon logout`. */
export function addLogoutCommand(program: Command): void {
  const { flag, placeholder, description } = connectionOptions.profile;
  program
    .command('logout')
    .description('Delete a saved login. The key itself stays valid until it is revoked.')
    .addOption(new Option(`--${flag} <${placeholder}>`, description))
    .option('--json', 'Print JSON, for programs.')
    .action((flags: LoginFlags) => {
      const { profile } = readConnectionInput(flags);
      if (!deleteProfile(profile)) throw new CliError([`There is no profile ${profile}.`]);
      stdout.printResult(flags, { profile, forgotten: true }, [`deleted: ${profile}`]);
    });
}

/** Registers the command `carillon whoami`. */
export function addWhoamiCommand(program: Command): void {
  addConnectionOptions(program.command('whoami'))
    .description('Show the service and the user of the login.')
    .option('--json', 'Print JSON, for programs.')
    .action(async (flags: LoginFlags) => {
      const connection = readConnectionSettings(flags);
      const user = await withConnection(connection, ({ carillon }) => carillon.user.get());
      printUser(flags, connection, user, { key: `from ${connection.keySource}` });
    });
}

function printUser(
  flags: LoginFlags,
  { service, domain }: ConnectionSettings,
  user: User,
  extraFields: Readonly<Record<string, string>>,
): void {
  const userFields = { service, domain, user_id: user.user_id, email: user.email, role: user.role, ...extraFields };
  const lines = Object.entries(userFields).map(([name, value]) => `${name}: ${value}`);
  stdout.printResult(flags, userFields, lines);
}

async function askDomain(): Promise<string> {
  if (!process.stdin.isTTY) throw new CliError(['--domain (or CARILLON_DOMAIN) must be given.']);
  return (await askLine('Domain of the account: ')).toLowerCase();
}
