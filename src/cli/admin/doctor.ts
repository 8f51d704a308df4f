import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import { loadConfig, unknownVariables } from '../../config/load.ts';
import type { OptionName } from '../../config/options.ts';
import { createResolver } from '../../delivery/transport/dns-resolver.ts';
import { createSsrfGuard, explainForbiddenTarget, parseTarget } from '../../delivery/transport/ssrf-guard.ts';
import { isLoopback } from '../../loopback.ts';
import type { DatabaseLocation } from '../../store/database-url.ts';
import { inspectDatabase } from '../../store/inspect.ts';
import { CliError, stdout } from '../output/screen.ts';
import { addServeOptions } from '../server/serve.ts';
import { type CheckInput, checkAll, type Finding } from './doctor-checks.ts';
import { checkMail } from './test-mail.ts';

type DoctorFlags = Partial<Record<OptionName, string>> & {
  readonly json?: true;
  readonly offline?: true;
  readonly mailTo?: string;
};

/** Registers the commands `carillon doctor …`. */
export function addDoctor(program: Command): void {
  const doctor = program.command('doctor').description('Check the installation and suggest fixes.');
  addServeOptions(doctor)
    .option('--offline', 'Skip checks that need the network.')
    .option('--mail-to <address>', 'Send a test mail to this address.')
    .option('--json', 'Print JSON, for programs.')
    .action(async (flags: DoctorFlags) => {
      const findings = await runAllChecks(flags);
      const width = Math.max(...findings.map(({ check }) => check.length));
      const lines = findings.map(
        ({ check, state, message }) => `${state.padEnd(7)}  ${check.padEnd(width)}  ${message}`,
      );
      stdout.printResult(flags, findings, lines);
      if (findings.some(({ state }) => state === 'fault')) process.exitCode = 1;
    });
  addTargetCommand(doctor);
}

/** Runs all checks. Must not throw: an error during a check is reported as a finding. */
async function runAllChecks({ json: _json, offline, mailTo, ...flags }: DoctorFlags): Promise<readonly Finding[]> {
  const loaded = loadConfig({ flags, environment: process.env });
  if ('faults' in loaded) return loaded.faults.map((message) => ({ check: 'configuration', state: 'fault', message }));
  const { config } = loaded;
  const database = await tryInspect(config.database);
  try {
    const findings = await checkAll({
      config,
      unknownOptions: unknownVariables(process.env),
      database,
      clock: systemClock,
      resolve: offline ? undefined : createResolver(),
    });
    return [...findings, ...(await checkMail(config, offline === true, mailTo))];
  } finally {
    if (typeof database === 'object') await database.close();
  }
}

async function tryInspect(database: DatabaseLocation): Promise<CheckInput['database']> {
  try {
    return await inspectDatabase(database, systemClock.now);
  } catch (error) {
    const cause = error instanceof AggregateError ? error.errors[0] : error;
    return cause instanceof Error ? cause.message : String(cause);
  }
}

function addTargetCommand(doctor: Command): void {
  doctor
    .command('target')
    .description(
      'Check whether a target may be notified. If not, show the address it resolves to and the setting that would allow it.',
    )
    .argument('<url>', 'The target.')
    .action(async (url: string) => {
      const parsed = parseTarget(url);
      if ('fault' in parsed) throw new CliError([`The target ${parsed.fault}.`]);
      const loaded = loadConfig({ flags: {}, environment: process.env });
      if ('faults' in loaded) throw new CliError(loaded.faults);
      const { host, baseUrl, allowTargets } = loaded.config;
      const loopbackAllowed = isLoopback(host) && (baseUrl === undefined || isLoopback(new URL(baseUrl).hostname));
      const check = await createSsrfGuard({ resolve: createResolver(), allow: allowTargets, loopbackAllowed }).check(
        parsed.url,
      );
      if ('failure' in check) throw new CliError([RESOLUTION_FAILURES[check.failure]]);
      // The line ends without a full stop, so that the setting at its end can be copied.
      if (!check.allowed) throw new CliError([`forbidden: ${explainForbiddenTarget(check)}`]);
      stdout.print(`allowed: ${check.addresses.map(({ address }) => address).join(', ')}`);
    });
}

const RESOLUTION_FAILURES = {
  no_such_name: 'The name does not exist, or has no address. A hook may use it; each attempt fails until it resolves.',
  resolver_silent:
    'No DNS resolver answered. Check the resolvers of this machine; this does not count as a failure of the target.',
} as const;
