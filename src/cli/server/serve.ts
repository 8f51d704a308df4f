import type { Command } from 'commander';
import { type Config, findUnknownVariables, loadConfig } from '../../config/load.ts';
import { environmentVariableOf, type Option, type OptionName, options } from '../../config/options.ts';
import { buildInvitationLink } from '../../resources/invitations/invitations.ts';
import type { Service } from '../../server.ts';
import { connectionVariableNames } from '../client/connection-options.ts';
import { CliError, stderr, stdout } from '../output/screen.ts';
import { restoreYoungGeneration } from './memory.ts';

/** Registers the command `carillon serve`. */
export function addServeCommand(program: Command): void {
  const serveCommand = program.command('serve').description('Run the service.').allowExcessArguments();
  addServeOptions(serveCommand);
  // Unknown options are collected, so that all errors are reported together.
  serveCommand.allowUnknownOption();
  serveCommand.action(async (flags: Partial<Record<OptionName, string>>, command: Command) => {
    const config = readServeConfig(flags, command.args);
    const servicePromise = startWithErrorLog(config);
    stopOnSignals(servicePromise);
    for (const variableName of findUnknownVariables(process.env)) {
      if (connectionVariableNames.includes(variableName)) continue;
      stderr.print(`${variableName} is set but is not an option of Carillon; see carillon serve --help.`);
    }
    printStartupInfo(await servicePromise);
  });
}

/** Adds all service options to a command. */
export function addServeOptions(command: Command): Command {
  for (const { flag, placeholder, description, defaultText } of Object.values(options) as Option<unknown>[]) {
    const defaultHint = defaultText === undefined || defaultText === '' ? '' : ` (default ${defaultText})`;
    command.option(`--${flag} <${placeholder}>`, `${description}${defaultHint} Also ${environmentVariableOf(flag)}.`);
  }
  return command;
}

async function startWithErrorLog(config: Config): Promise<Service> {
  // Import the service late, so that help, invalid options and other commands do not load it.
  const { StartError, startService } = await import('../../server.ts');
  const { createLog } = await import('../../log.ts');
  // Log the error without its private properties. Node would print them, with the records or addresses in them.
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

function readServeConfig(flags: Partial<Record<OptionName, string>>, extraArguments: readonly string[]): Config {
  // An argument after an unknown option is the value of this option and needs no error of its own.
  const isOptionValue = (argument: string, previousArgument = '') =>
    !argument.startsWith('-') && /^--?[^=]+$/.test(previousArgument);
  const unknownOptionErrors = extraArguments
    .filter((argument, index) => !isOptionValue(argument, extraArguments[index - 1]))
    .map((argument) => `${argument} is not an option of carillon serve.`.replace(/=\S*/, ''));
  const configResult = loadConfig({ flags, environment: process.env });
  if ('config' in configResult && unknownOptionErrors.length === 0) return configResult.config;
  throw new CliError([...unknownOptionErrors, ...('faults' in configResult ? configResult.faults : [])]);
}

/** Prints the console's URL and, at the first start, the first account's invitation link and key. */
function printStartupInfo({ baseUrl, firstAccount }: Service): void {
  const lines = [
    `console: ${firstAccount === undefined ? `${baseUrl}/` : buildInvitationLink(baseUrl, firstAccount.invitationToken)}`,
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
function stopOnSignals(servicePromise: Promise<Service>): void {
  const stop = () => {
    servicePromise
      .then((service) => service.stop())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          stderr.print(error instanceof Error ? error.message : String(error));
          process.exit(1);
        },
      );
  };
  // Replace the handlers of `main.ts`, which exit immediately.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.removeAllListeners(signal).on(signal, stop);
}
