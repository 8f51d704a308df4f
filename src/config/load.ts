import { isIPv6 } from 'node:net';
import { environmentVariableOf, type Option, type OptionName, options } from './options.ts';

type ValueOf<O> = O extends Option<infer T> ? T : never;

/** The values of all options, parsed and validated. Without `baseUrl`, the service derives it from host and port. */
export type Config = Readonly<{ [N in Exclude<OptionName, 'baseUrl'>]: ValueOf<(typeof options)[N]> }> & {
  readonly baseUrl: string | undefined;
};

/** The sources of option values. Flags (by option name) take precedence over environment variables. */
type ConfigSources = {
  readonly flags: Readonly<Partial<Record<OptionName, string>>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/** Returns the configuration, or all errors as one line each. */
export function loadConfig(sources: ConfigSources): { config: Config } | { faults: readonly string[] } {
  const errors: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(options) as [OptionName, Option<unknown>][]) {
    const { text, writtenAs } = findOptionText(name, row.flag, row.initial, sources);
    if (text === undefined) continue;
    const parseResult = row.parse(text);
    if ('fault' in parseResult) errors.push(`${writtenAs} ${parseResult.fault}.`);
    else values[name] = parseResult.value;
  }
  const config = { baseUrl: undefined, ...values } as unknown as Config;
  const hasBaseUrl =
    findOptionText('baseUrl', options.baseUrl.flag, options.baseUrl.initial, sources).text !== undefined;
  if (values.host !== undefined && !hasBaseUrl) errors.push(...findBaseUrlErrors(config));
  if (config.database?.scheme === 'sqlite' && config.role !== undefined && config.role !== 'all')
    errors.push(
      '--role is for nodes that share a PostgreSQL; an SQLite file is served by one process, which does everything.',
    );
  if (values.smtpUrl !== undefined && 'mailFrom' in values && values.mailFrom === undefined)
    errors.push('--smtp-url needs --mail-from: the sender of the mails.');
  return errors.length > 0 ? { faults: errors } : { config: Object.freeze(config) };
}

function findOptionText(
  name: OptionName,
  flagName: string,
  initial: string | undefined,
  sources: ConfigSources,
): { text: string | undefined; writtenAs: string } {
  const flagText = sources.flags[name];
  if (flagText !== undefined) return { text: flagText, writtenAs: `--${flagName}` };
  const variableName = environmentVariableOf(flagName);
  const variableText = sources.environment[variableName];
  // An empty variable counts as missing: many tools set an empty variable for "not set".
  if (variableText !== undefined && variableText !== '') return { text: variableText, writtenAs: variableName };
  return { text: initial, writtenAs: `--${flagName}` };
}

/**
 * Returns an error for a wildcard address without a base URL: the address does not determine the URL under which
 * clients reach the service (C10).
 */
function findBaseUrlErrors(config: Config): string[] {
  if (!isWildcardHost(config.host)) return [];
  return [
    `--host ${config.host} listens on every address: set --base-url to the one under which others reach the service.`,
  ];
}

/** Whether a host is the unspecified address, in any of its spellings (`0`, `0x0`, `0.0`, `::`, `::ffff:0.0.0.0`). */
function isWildcardHost(host: string): boolean {
  const hostname = URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}`)?.hostname ?? '';
  return ['0.0.0.0', '[::]', '[::ffff:0:0]'].includes(hostname);
}

/** Returns the environment variables that start with `CARILLON_` but belong to no option. Most are misspelled. */
export function findUnknownVariables(environment: ConfigSources['environment']): string[] {
  const knownVariables = new Set(Object.values(options).map((row) => environmentVariableOf(row.flag)));
  return Object.keys(environment).filter((name) => name.startsWith('CARILLON_') && !knownVariables.has(name));
}

/** Returns the value of each option by flag, with secrets masked, for the log line at start-up. */
export function summarizeConfig(config: Config): Record<string, unknown> {
  const rows = Object.entries(options) as [OptionName, Option<unknown>][];
  return Object.fromEntries(
    rows.map(([name, row]) => {
      const value = config[name];
      return [row.flag, row.secret && value !== '' ? '(set)' : row.show === undefined ? value : row.show(value)];
    }),
  );
}
