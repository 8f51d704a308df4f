import type { Command } from 'commander';
import { type Config, loadConfig } from '../../config/load.ts';
import { environmentName, options } from '../../config/options.ts';
import { CliError } from '../output/cli-error.ts';

/** The `--base-url` option of a command. */
export type BaseUrlFlags = { readonly baseUrl?: string };

const { baseUrl, host, port } = options;

/** Gives a command `--base-url`. */
export function addBaseUrlOption(command: Command): Command {
  return command.option(
    `--${baseUrl.flag} <${baseUrl.shape}>`,
    `${baseUrl.says} Also ${environmentName(baseUrl.flag)}.`,
  );
}

/** Base URL of the service: from `--base-url`, or as `carillon serve` derives it from the same environment. */
export function readBaseUrl(flags: BaseUrlFlags): string {
  const names = [baseUrl, host, port].map(({ flag }) => environmentName(flag));
  const environment = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  const loaded = loadConfig({ flags: flags.baseUrl === undefined ? {} : { baseUrl: flags.baseUrl }, environment });
  if ('faults' in loaded) throw new CliError(loaded.faults);
  const { config } = loaded;
  if (config.baseUrl === undefined && config.port === 0)
    throw new CliError(['With port 0 the port is not known beforehand: give --base-url.']);
  return baseUrlOf(config);
}

/** Base URL of a service with this configuration. */
export function baseUrlOf(config: Pick<Config, 'baseUrl' | 'host' | 'port'>): string {
  return config.baseUrl ?? `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`;
}
