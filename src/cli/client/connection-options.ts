import { type Command, Option } from 'commander';
import { type Config, loadConfig } from '../../config/load.ts';
import { environmentVariableOf, options } from '../../config/options.ts';
import { CliError } from '../output/screen.ts';

// Options that name a service. They are apart from the client, so that a command without a client does not load the SDK.

export type ConnectionFlags = { readonly [Name in keyof typeof connectionOptions]?: string };

/** Adds the options `--service`, `--domain`, `--key` and `--profile` to a command. */
export function addConnectionOptions(command: Command): Command {
  for (const { flag, placeholder, description } of Object.values(connectionOptions)) {
    const option = new Option(`--${flag} <${placeholder}>`, `${description} Also ${environmentVariableOf(flag)}.`);
    command.addOption(option.helpGroup('Connection:'));
  }
  return command;
}

/** Returns the flag for a field or parameter, such as `--task-name` for `task_name`. */
export function flagOf(field: string): string {
  return `--${field.replaceAll('_', '-')}`;
}

/**
 * Connection options of client commands. Flags override environment variables, and variables override the profile saved
 * by `carillon login`.
 */
export const connectionOptions = {
  service: { flag: 'service', placeholder: 'url', description: 'URL of the service (default http://127.0.0.1:8080).' },
  domain: { flag: 'domain', placeholder: 'host', description: 'Domain of the account.' },
  key: {
    flag: 'key',
    placeholder: 'key',
    description:
      'API key. Other users of this machine can see it in the process list: prefer the variable, or carillon login.',
  },
  profile: {
    flag: 'profile',
    placeholder: 'name',
    description: 'Name of a login saved by carillon login (default default).',
  },
} as const;

/** The option of `carillon listen` for the signing secret. */
export const listenSecretOption = {
  flag: 'secret',
  placeholder: 'whsec_…',
  description: 'Sign forwarded requests with this secret, like a signed hook. Prefer the variable, as with --key.',
} as const;

/** Name of the environment variable with the key of the source service, for `import --from-api`. */
export const importKeyVariableName = environmentVariableOf('import-key');

/** Names of the environment variables of client commands. `carillon serve` does not report them as unknown. */
export const connectionVariableNames: readonly string[] = [
  ...[...Object.values(connectionOptions), listenSecretOption].map(({ flag }) => environmentVariableOf(flag)),
  importKeyVariableName,
];

/** Flags of a command with the option `--base-url`. */
export type BaseUrlFlags = { readonly baseUrl?: string };

const { baseUrl, host, port } = options;

/** Adds the option `--base-url` to a command. */
export function addBaseUrlOption(command: Command): Command {
  return command.option(
    `--${baseUrl.flag} <${baseUrl.placeholder}>`,
    `${baseUrl.description} Also ${environmentVariableOf(baseUrl.flag)}.`,
  );
}

/** Reads the base URL of the service from `--base-url`, or derives it from the environment as `carillon serve` does. */
export function readBaseUrl(flags: BaseUrlFlags): string {
  const variableNames = [baseUrl, host, port].map(({ flag }) => environmentVariableOf(flag));
  const environment = Object.fromEntries(
    variableNames.map((variableName) => [variableName, process.env[variableName]]),
  );
  const configResult = loadConfig({
    flags: flags.baseUrl === undefined ? {} : { baseUrl: flags.baseUrl },
    environment,
  });
  if ('faults' in configResult) throw new CliError(configResult.faults);
  const { config } = configResult;
  if (config.baseUrl === undefined && config.port === 0)
    throw new CliError(['With port 0 the port is not known beforehand: give --base-url.']);
  return baseUrlOf(config);
}

/** Returns the base URL of a service with this configuration. */
export function baseUrlOf(config: Pick<Config, 'baseUrl' | 'host' | 'port'>): string {
  return config.baseUrl ?? `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`;
}
