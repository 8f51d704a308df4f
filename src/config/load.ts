import { isIPv6 } from 'node:net';
import { environmentVariableOf, type Option, type OptionName, options } from './options.ts';

type ValueOf<OptionType> = OptionType extends Option<infer T> ? T : never;

/** The values of all options, parsed and validated. Without `baseUrl`, the service derives it from host and port. */
export type Config = Readonly<{ [Name in Exclude<OptionName, 'baseUrl'>]: ValueOf<(typeof options)[Name]> }> & {
  readonly baseUrl: string | undefined;
};

/** The sources of option values. Flags (by option name) take precedence over environment variables. */
type ConfigSources = {
  readonly flags: Readonly<Partial<Record<OptionName, string>>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/** Returns the configuration, or all errors as one line each. */
export function loadConfig(sources: ConfigSources): { config: Config } | { faults: readonly string[] } {
  const faults: string[] = [];
  const parsedValues: Record<string, unknown> = {};
  for (const [optionName, option] of Object.entries(options) as [OptionName, Option<unknown>][]) {
    const { text, sourceName } = findOptionText(optionName, option.flag, option.defaultText, sources);
    if (text === undefined) continue;
    const parseResult = option.parse(text);
    if ('fault' in parseResult) faults.push(`${sourceName} ${parseResult.fault}.`);
    else parsedValues[optionName] = parseResult.value;
  }
  const config = { baseUrl: undefined, ...parsedValues } as Config;
  const hasBaseUrl =
    findOptionText('baseUrl', options.baseUrl.flag, options.baseUrl.defaultText, sources).text !== undefined;
  if (parsedValues.host !== undefined && !hasBaseUrl) faults.push(...findBaseUrlErrors(config));
  if (config.database?.scheme === 'sqlite' && config.role !== undefined && config.role !== 'all')
    faults.push(
      '--role is for nodes that share a PostgreSQL; an SQLite file is served by one process, which does everything.',
    );
  if (parsedValues.smtpUrl !== undefined && 'mailFrom' in parsedValues && parsedValues.mailFrom === undefined)
    faults.push('--smtp-url needs --mail-from: the sender of the mails.');
  return faults.length > 0 ? { faults } : { config: Object.freeze(config) };
}

function findOptionText(
  optionName: OptionName,
  flagName: string,
  defaultText: string | undefined,
  sources: ConfigSources,
): { text: string | undefined; sourceName: string } {
  const flagText = sources.flags[optionName];
  if (flagText !== undefined) return { text: flagText, sourceName: `--${flagName}` };
  const variableName = environmentVariableOf(flagName);
  const variableText = sources.environment[variableName];
  // An empty variable counts as missing: many tools set an empty variable for "not set".
  if (variableText !== undefined && variableText !== '') return { text: variableText, sourceName: variableName };
  return { text: defaultText, sourceName: `--${flagName}` };
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
  const normalizedHost = URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}`)?.hostname ?? '';
  return ['0.0.0.0', '[::]', '[::ffff:0:0]'].includes(normalizedHost);
}

/** Returns the environment variables that start with `CARILLON_` but belong to no option. Most are misspelled. */
export function findUnknownVariables(environment: ConfigSources['environment']): string[] {
  const knownVariableNames = new Set(Object.values(options).map((option) => environmentVariableOf(option.flag)));
  return Object.keys(environment).filter(
    (variableName) => variableName.startsWith('CARILLON_') && !knownVariableNames.has(variableName),
  );
}

/** Returns the value of each option by flag, with secrets masked, for the log line at start-up. */
export function summarizeConfig(config: Config): Record<string, unknown> {
  const optionEntries = Object.entries(options) as [OptionName, Option<unknown>][];
  return Object.fromEntries(
    optionEntries.map(([optionName, option]) => {
      const value = config[optionName];
      return [
        option.flag,
        option.isSecret && value !== ''
          ? '(set)'
          : option.formatForDisplay === undefined
            ? value
            : option.formatForDisplay(value),
      ];
    }),
  );
}
