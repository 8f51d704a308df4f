import { Carillon, createSend, resolveClientOptions } from '../../../packages/sdk/src/carillon.ts';
import { CarillonError } from '../../../packages/sdk/src/errors.ts';
import { apiKey, type CredentialsProvider, type Send } from '../../../packages/sdk/src/transport.ts';
import { environmentVariableOf } from '../../config/options.ts';
import { CliError } from '../output/screen.ts';
import { type ConnectionFlags, flagOf } from './connection-options.ts';
import { DEFAULT_PROFILE, findProfile } from './profiles.ts';

export const DEFAULT_SERVICE_URL = 'http://127.0.0.1:8080';

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
