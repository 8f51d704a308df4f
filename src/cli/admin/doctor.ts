import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import { findUnknownVariables, loadConfig } from '../../config/load.ts';
import type { OptionName } from '../../config/options.ts';
import { createResolver } from '../../delivery/transport/dns-resolver.ts';
import { createSsrfGuard, explainForbiddenTarget, parseTarget } from '../../delivery/transport/ssrf-guard.ts';
import { isLoopback } from '../../loopback.ts';
import type { DatabaseLocation } from '../../store/database-url.ts';
import { inspectDatabase } from '../../store/open.ts';
import { CliError, stdout } from '../output/screen.ts';
import { addServeOptions } from '../server/serve.ts';
import { type CheckInput, checkInstallation, type Finding } from './doctor-checks.ts';
import { checkMailServer } from './test-mail.ts';

type DoctorFlags = Partial<Record<OptionName, string>> & {
  readonly json?: true;
  readonly offline?: true;
  readonly mailTo?: string;
};

/** Registers the commands `carillon doctor …`. */
export function addDoctorCommands(program: Command): void {
  const doctorCommand = program.command('doctor').description('Check the installation and suggest fixes.');
  addServeOptions(doctorCommand)
    .option('--offline', 'Skip checks that need the network.')
    .option('--mail-to <address>', 'Send a test mail to this address.')
    .option('--json', 'Print JSON, for programs.')
    .action(async (flags: DoctorFlags) => {
      const findings = await runAllChecks(flags);
      const checkWidth = Math.max(...findings.map(({ check }) => check.length));
      const lines = findings.map(
        ({ check, state, message }) => `${state.padEnd(7)}  ${check.padEnd(checkWidth)}  ${message}`,
      );
      stdout.printResult(flags, findings, lines);
      if (findings.some(({ state }) => state === 'fault')) process.exitCode = 1;
    });
  addTargetCommand(doctorCommand);
}

/** Runs all checks. Invalid options and an unreachable database are reported as findings and do not throw. */
async function runAllChecks({ json: _json, offline, mailTo, ...flags }: DoctorFlags): Promise<readonly Finding[]> {
  const configResult = loadConfig({ flags, environment: process.env });
  if ('faults' in configResult)
    return configResult.faults.map((message) => ({ check: 'configuration', state: 'fault', message }));
  const { config } = configResult;
  const inspection = await tryInspectDatabase(config.database);
  try {
    const findings = await checkInstallation({
      config,
      unknownVariableNames: findUnknownVariables(process.env),
      inspection,
      clock: systemClock,
      resolve: offline ? undefined : createResolver(),
    });
    return [...findings, ...(await checkMailServer(config, offline === true, mailTo))];
  } finally {
    if (typeof inspection === 'object') await inspection.close();
  }
}

async function tryInspectDatabase(databaseLocation: DatabaseLocation): Promise<CheckInput['inspection']> {
  try {
    return await inspectDatabase(databaseLocation, systemClock.now);
  } catch (error) {
    const firstCause = error instanceof AggregateError ? error.errors[0] : error;
    return firstCause instanceof Error ? firstCause.message : String(firstCause);
  }
}

function addTargetCommand(doctorCommand: Command): void {
  doctorCommand
    .command('target')
    .description(
      'Check whether a target may be notified. If not, show the address it resolves to and the setting that would allow it.',
    )
    .argument('<url>', 'The target.')
    .action(async (url: string) => {
      const parsedTarget = parseTarget(url);
      if ('fault' in parsedTarget) throw new CliError([`The target ${parsedTarget.fault}.`]);
      const configResult = loadConfig({ flags: {}, environment: process.env });
      if ('faults' in configResult) throw new CliError(configResult.faults);
      const { host, baseUrl, allowTargets } = configResult.config;
      const isLoopbackAllowed = isLoopback(host) && (baseUrl === undefined || isLoopback(new URL(baseUrl).hostname));
      const targetCheck = await createSsrfGuard({
        resolve: createResolver(),
        allowRules: allowTargets,
        isLoopbackAllowed,
      }).checkTarget(parsedTarget.url);
      if ('failure' in targetCheck) throw new CliError([RESOLUTION_FAILURE_TEXTS[targetCheck.failure]]);
      // The line ends without a full stop, so that the setting at its end can be copied.
      if (!targetCheck.allowed) throw new CliError([`forbidden: ${explainForbiddenTarget(targetCheck)}`]);
      stdout.print(`allowed: ${targetCheck.addresses.map(({ address }) => address).join(', ')}`);
    });
}

const RESOLUTION_FAILURE_TEXTS = {
  no_such_name: 'The name does not exist, or has no address. A hook may use it; each attempt fails until it resolves.',
  resolver_silent:
    'No DNS resolver answered. Check the resolvers of this machine; this does not count as a failure of the target.',
} as const;
