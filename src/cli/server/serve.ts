import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { type Config, loadConfig, unknownVariables } from '../../config/load.ts';
import { environmentVariableOf, type Option, type OptionName, options } from '../../config/options.ts';
import { invitationLink } from '../../resources/invitations/invitations.ts';
import type { Service } from '../../server.ts';
import { connectionVariableNames } from '../client/connect.ts';
import { CliError, stderr, stdout } from '../output/screen.ts';

/** Registers the command `carillon serve`. */
export function addServe(program: Command): void {
  const serve = program.command('serve').description('Run the service.').allowExcessArguments();
  addServeOptions(serve);
  // Unknown options are collected, so that all errors are reported together.
  serve.allowUnknownOption();
  serve.action(async (flags: Partial<Record<OptionName, string>>, command: Command) => {
    const config = readConfig(flags, command.args);
    const starting = startLogged(config);
    stopOnSignals(starting);
    for (const name of unknownVariables(process.env)) {
      if (connectionVariableNames.includes(name)) continue;
      stderr.print(`${name} is set but is not an option of Carillon; see carillon serve --help.`);
    }
    printStartup(await starting);
  });
}

/** Adds all service options to a command. */
export function addServeOptions(command: Command): Command {
  for (const { flag, shape, description, initial } of Object.values(options) as Option<unknown>[]) {
    const defaultText = initial === undefined || initial === '' ? '' : ` (default ${initial})`;
    command.option(`--${flag} <${shape}>`, `${description}${defaultText} Also ${environmentVariableOf(flag)}.`);
  }
  return command;
}

async function startLogged(config: Config): Promise<Service> {
  // Import the service late, so that help, invalid options and other commands do not load it.
  const { StartError, startService } = await import('../../server.ts');
  const { createLog } = await import('../../log.ts');
  // Log the error. Node would print it whole, with records or addresses that it may contain.
  process.on('uncaughtException', (error) => {
    createLog(config.logLevel).fatal({ event: 'fatal', err: error });
    process.exit(1);
  });
  return startService(config)
    .catch((error: unknown) => {
      throw error instanceof StartError ? new CliError([error.message]) : error;
    })
    .finally(restoreYoungGeneration);
}

function readConfig(flags: Partial<Record<OptionName, string>>, rest: readonly string[]): Config {
  // An argument after an unknown option is the value of that option, and not another error.
  const isValue = (argument: string, before = '') => !argument.startsWith('-') && /^--?[^=]+$/.test(before);
  const unknownOptions = rest
    .filter((argument, index) => !isValue(argument, rest[index - 1]))
    .map((argument) => `${argument} is not an option of carillon serve.`.replace(/=\S*/, ''));
  const loaded = loadConfig({ flags, environment: process.env });
  if ('config' in loaded && unknownOptions.length === 0) return loaded.config;
  throw new CliError([...unknownOptions, ...('faults' in loaded ? loaded.faults : [])]);
}

/** Prints the console's URL and, at the first start, the first account's invitation link and key. */
function printStartup({ baseUrl, firstAccount }: Service): void {
  const lines = [
    `console: ${firstAccount === undefined ? `${baseUrl}/` : invitationLink(baseUrl, firstAccount.token)}`,
  ];
  if (firstAccount !== undefined) {
    const { domain, key } = firstAccount;
    lines.push(
      `domain: ${domain}`,
      `key: ${key}`,
      '',
      'Open the console to set a passphrase. The link works once, within 7 days. Keep the key: it is shown only once. Try it:',
      `curl -X POST ${baseUrl}/v2/events -H 'domain: ${domain}' -H 'key: ${key}' -H 'content-type: application/json' -d '{"event_name":"Hello","start_date":"20270101","due_date":"20270102"}'`,
    );
  }
  stdout.print(...lines);
}

/** Stops the service at the first signal, as soon as the service has started. Further signals have no effect. */
function stopOnSignals(startingService: Promise<Service>): void {
  const stop = () => {
    startingService
      .then((service) => service.stop())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          stderr.print(error instanceof Error ? error.message : String(error));
          process.exit(1);
        },
      );
  };
  // Replace the handlers that exit immediately, which are installed until there is a service to stop.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.removeAllListeners(signal).on(signal, stop);
}

// Objects that are created while modules load survive. They would let V8's young generation grow to 22 MiB, and V8
// never shrinks it in an idle process.

/** Keeps V8's young generation at its initial size during start-up. */
export function limitYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Restores V8's default growth of the young generation, for the short-lived objects of requests. */
function restoreYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
