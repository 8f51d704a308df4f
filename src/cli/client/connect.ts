import { type Command, Option } from 'commander';
import { Carillon, createSend, resolveClientOptions } from '../../../packages/sdk/src/carillon.ts';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import { apiKey, type CredentialsProvider, type Send } from '../../../packages/sdk/src/transport.ts';
import { type Config, loadConfig } from '../../config/load.ts';
import { environmentVariableOf, options } from '../../config/options.ts';
import { CliError } from '../output/screen.ts';
import { DEFAULT_PROFILE, findProfile } from './profiles.ts';

export const DEFAULT_SERVICE_URL = 'http://127.0.0.1:8080';

export type ConnectionFlags = { readonly [Name in keyof typeof connectionOptions]?: string };

/** URL of a service, and the domain and key of its caller. Error messages show `keySource` as the origin of the key. */
export type ConnectionSettings = {
  readonly service: string;
  readonly domain: string;
  readonly key: string;
  readonly keySource: string;
};

/** Clients for one service: `carillon` has methods for each resource, and `send` sends a request to any path. */
export type ServiceClient = {
  readonly connection: ConnectionSettings;
  readonly carillon: Carillon;
  readonly send: Send;
};

/** Adds the options `--service`, `--domain`, `--key` and `--profile` to a command. */
export function addConnectionOptions(command: Command): Command {
  for (const { flag, placeholder, description } of Object.values(connectionOptions)) {
    const option = new Option(`--${flag} <${placeholder}>`, `${description} Also ${environmentVariableOf(flag)}.`);
    command.addOption(option.helpGroup('Connection:'));
  }
  return command;
}

/** Connection settings from flags and environment variables, before a saved profile is applied. */
type ConnectionInput = {
  readonly service: string | undefined;
  readonly domain: string | undefined;
  readonly key: string | undefined;
  readonly profile: string;
};

/** Reads connection settings from flags and environment variables. An empty variable counts as not set. */
export function readConnectionInput(flags: ConnectionFlags): ConnectionInput {
  const readSetting = (optionName: keyof ConnectionFlags) =>
    flags[optionName] ?? (process.env[environmentVariableOf(optionName)] || undefined);
  const serviceText = readSetting('service');
  return {
    service: serviceText === undefined ? undefined : readServiceUrl(serviceText),
    domain: readSetting('domain')?.trim().toLowerCase(),
    key: readSetting('key'),
    profile: readSetting('profile') ?? DEFAULT_PROFILE,
  };
}

/** Validates and normalizes the URL of a service, without a trailing slash. */
function readServiceUrl(text: string): string {
  const url = URL.parse(text);
  if (/\/v2\/*$/.test(url?.pathname ?? ''))
    throw new CliError(['--service must be the address without /v2, such as http://127.0.0.1:8080.']);
  const isBareUrl = url !== null && url.username + url.password + url.search + url.hash === '';
  if (isBareUrl && ['http:', 'https:'].includes(url.protocol)) return url.href.replace(/([^/])\/+$/, '$1');
  throw new CliError(['--service must be an http or https address without query, such as http://127.0.0.1:8080.']);
}

/** Combines flags, environment variables and the saved profile. The error lists all settings that are missing. */
export function readConnectionSettings(flags: ConnectionFlags): ConnectionSettings {
  const { profile: profileName, ...given } = readConnectionInput(flags);
  const savedProfile = findProfile(profileName);
  if (savedProfile === undefined && (flags.profile ?? process.env.CARILLON_PROFILE))
    throw new CliError([`There is no profile ${profileName}; carillon login --profile ${profileName} creates it.`]);
  const serviceUrl = given.service ?? savedProfile?.service ?? DEFAULT_SERVICE_URL;
  const domain = given.domain ?? savedProfile?.domain;
  const missingSettings = [
    ...(domain === undefined ? ['--domain (or CARILLON_DOMAIN)'] : []),
    ...(given.key === undefined && savedProfile === undefined ? ['a key (CARILLON_KEY)'] : []),
  ];
  if (domain === undefined || missingSettings.length > 0)
    throw new CliError([`${missingSettings.join(' and ')} must be given, or saved with carillon login.`]);
  if (given.key !== undefined)
    return {
      service: serviceUrl,
      domain,
      key: given.key,
      keySource: flags.key === undefined ? 'CARILLON_KEY' : '--key',
    };
  // A saved key is only sent to the service and the domain that it was saved for, regardless of other flags.
  if (savedProfile === undefined || savedProfile.service !== serviceUrl || savedProfile.domain !== domain)
    throw new CliError([
      `The saved key is for ${savedProfile?.domain} at ${savedProfile?.service} and is not sent elsewhere: set CARILLON_KEY, or use carillon login --profile another.`,
    ]);
  return { service: serviceUrl, domain, key: savedProfile.key, keySource: `profile ${profileName}` };
}

function createServiceClient(connection: ConnectionSettings): ServiceClient {
  const clientOptions = { baseUrl: connection.service, auth: createCredentials(connection) };
  return { connection, carillon: new Carillon(clientOptions), send: createSend(resolveClientOptions(clientOptions)) };
}

function createCredentials({ domain, key }: ConnectionSettings): CredentialsProvider {
  try {
    return apiKey({ domain, key });
  } catch (error) {
    throw error instanceof TypeError ? new CliError([error.message]) : error;
  }
}

/**
 * Runs an operation that calls the service. A failed call becomes a `CliError`, which names invalid fields by their
 * flags.
 */
export async function withService<T>(
  flags: ConnectionFlags,
  operation: (serviceClient: ServiceClient) => Promise<T>,
): Promise<T> {
  return withConnection(readConnectionSettings(flags), operation);
}

/** Like `withService`, for connection settings that are already known. */
export async function withConnection<T>(
  connection: ConnectionSettings,
  operation: (serviceClient: ServiceClient) => Promise<T>,
): Promise<T> {
  const client = createServiceClient(connection);
  try {
    return await operation(client);
  } catch (error) {
    if (error instanceof CarillonError) throw new CliError(formatCallError(error, connection));
    throw error;
  }
}

/** Returns the error lines for a failed call, one line for each problem. */
function formatCallError(error: CarillonError, { service, domain, keySource }: ConnectionSettings): string[] {
  switch (error.code) {
    case 'unauthorized':
      return [`${service} rejects this key for ${domain} (401; from ${keySource}).`];
    case 'connection':
    case 'timeout':
      return [`${service} does not answer: ${joinLines(error.message)}. Is it running? Is --service right?`];
    case 'unexpected_answer':
      return [`${service} does not answer like Carillon. ${error.message}`];
    case 'invalid_input':
      return error.errors.map(({ field, message }) => `${flagOf(field)} ${message}.`);
    default:
      return [`${error.message} (${error.status} ${error.code}${formatRetryHint(error)})`];
  }
}

/** Returns the time to wait before a retry as text; empty if the response has no `Retry-After`. */
const formatRetryHint = ({ retryAfterS }: CarillonError) =>
  retryAfterS === undefined ? '' : `; retry in ${retryAfterS} s`;

/** Joins the lines of a text, since OpenSSL messages contain line breaks. */
const joinLines = (text: string) => text.trim().replace(/\s+/g, ' ');

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
