import type { Clock } from '../../clock.ts';
import type { Config } from '../../config/load.ts';
import { findRiskyOrigins } from '../../config/origins.ts';
import { countMissingRecords } from '../../delivery/maintenance/integrity-check.ts';
import type { ResolveName } from '../../delivery/transport/dns-resolver.ts';
import type { AllowRule } from '../../delivery/transport/ssrf-guard.ts';
import { isLoopback } from '../../loopback.ts';
import { formatMebibytes } from '../../store/backup/backup.ts';
import { formatDatabase } from '../../store/database-url.ts';
import type { DatabaseInspection } from '../../store/inspection.ts';

/** Result of one check. For a warning or a fault, the message says how to fix the problem. */
export type Finding = {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'fault';
  readonly message: string;
};

/** Input of all checks of `carillon doctor`. */
export type CheckInput = {
  readonly config: Config;
  /** Names of environment variables that start with `CARILLON_` but belong to no option. */
  readonly unknownVariables: readonly string[];
  /**
   * Inspection of the database; undefined if the database does not exist yet, an error message if the database cannot
   * be reached.
   */
  readonly database: DatabaseInspection | string | undefined;
  readonly clock: Clock;
  /** Resolves host names. Undefined with `--offline`, so that checks which need the network are skipped. */
  readonly resolve: ResolveName | undefined;
};

const ok = (check: string, message: string): Finding => ({ check, state: 'ok', message });
const warning = (check: string, message: string): Finding => ({ check, state: 'warning', message });
const fault = (check: string, message: string): Finding => ({ check, state: 'fault', message });

/** Runs all checks, in the order in which problems should be fixed. */
export async function checkInstallation(input: CheckInput): Promise<Finding[]> {
  const { config, unknownVariables: unknownVariableNames, database, clock, resolve } = input;
  return [
    checkConfiguration(unknownVariableNames),
    ...checkBaseUrl(config),
    ...checkAllowedTargets(config),
    ...checkCorsOrigins(config),
    ...(await checkDatabase(config, database, clock)),
    await checkSystemClock(clock),
    await checkNameResolution(resolve),
  ];
}

function checkConfiguration(unknownVariableNames: readonly string[]): Finding {
  if (unknownVariableNames.length === 0) return ok('configuration', 'all options are valid');
  return warning(
    'configuration',
    `${unknownVariableNames.join(', ')}: not an option of Carillon; correct or remove it`,
  );
}

function checkBaseUrl({ host, port, baseUrl, trustProxy }: Config): Finding[] {
  const check = 'base address';
  if (baseUrl === undefined) return [ok(check, `http://${host}:${port}, because --base-url is not set`)];
  const url = new URL(baseUrl);
  const isLoopbackUrl = isLoopback(url.hostname);
  if (isLoopbackUrl && !isLoopback(host))
    return [warning(check, `${baseUrl} points every other machine to itself; set the address that other machines use`)];
  if (isLoopbackUrl) return [ok(check, baseUrl)];
  const warnings: Finding[] = [];
  if (url.protocol === 'http:')
    warnings.push(
      warning(check, `${baseUrl} is not https: keys can be read in transit; put a proxy with TLS in front`),
    );
  if (url.protocol === 'https:' && trustProxy.length === 0)
    warnings.push(
      warning(check, 'behind a TLS proxy, logs show its address for every caller; add it to --trust-proxy'),
    );
  return warnings.length > 0 ? warnings : [ok(check, baseUrl)];
}

/** Whether a rule allows an address range so wide that it is probably a mistake. */
const isWideRange = (rule: AllowRule) => rule.kind === 'range' && rule.bits < 8;

function checkAllowedTargets({ allowTargets: allowRules }: Config): Finding[] {
  const check = 'targets';
  if (allowRules.length === 0) return [ok(check, 'private networks are blocked')];
  const wideRanges = allowRules.filter(isWideRange).map(({ text }) => text);
  if (wideRanges.length > 0)
    return [
      warning(
        check,
        `--allow-targets opens ${wideRanges.join(', ')}: anyone with a key can reach all of it; use narrower ranges`,
      ),
    ];
  return [ok(check, `open in addition to public addresses: ${allowRules.map(({ text }) => text).join(', ')}`)];
}

function checkCorsOrigins({ corsOrigins: origins }: Config): Finding[] {
  return findRiskyOrigins(origins).map(({ origin, risk }) =>
    warning('origins', `--cors-origins holds ${origin}: ${risk}`),
  );
}

/** Minimum free disk space, in bytes. With less, a busy service may fill the disk within an hour. */
const MIN_FREE_BYTES = 256 * 1_024 * 1_024;

async function checkDatabase(config: Config, database: CheckInput['database'], clock: Clock): Promise<Finding[]> {
  const databaseText = formatDatabase(config.database);
  if (database === undefined)
    return [warning('database', `none at ${databaseText} yet; carillon serve creates it, or correct --database`)];
  if (typeof database === 'string')
    return [
      fault(
        'database',
        `${databaseText} cannot be reached: ${database}; check --database, permissions, and that it is running`,
      ),
    ];
  const { engine, bytes, locationProblems: locationErrors } = database;
  const databaseSummary = `${databaseText}, ${engine}, ${formatMebibytes(bytes)}`;
  return [
    locationErrors.length === 0
      ? ok('database', databaseSummary)
      : fault('database', `${locationErrors.join('; ')}; move it to a local disk`),
    checkSchema(database),
    await checkIntegrity(database),
    checkDurability(config, database),
    ...checkDiskSpace(database),
    ...checkDatabaseClock(database),
    ...(await checkFutureOccurrences(database, clock)),
    ok('service', database.isServed ? 'running on the database' : 'not running on the database'),
  ];
}

function checkSchema({ version, newestVersion }: DatabaseInspection): Finding {
  const check = 'schema';
  if (version > newestVersion) return fault(check, `version ${version} is from a newer Carillon; update Carillon`);
  if (version < newestVersion)
    return warning(check, `version ${version} of ${newestVersion}; the next start migrates it; make a backup first`);
  return ok(check, `version ${version}, up to date`);
}

const isSchemaReadable = ({ version, newestVersion }: DatabaseInspection) => version > 0 && version <= newestVersion;

async function checkIntegrity(database: DatabaseInspection): Promise<Finding> {
  const check = 'integrity';
  if (database.problems.length > 0)
    return fault(check, `${database.problems.join('; ')}; stop the service and restore the last good backup`);
  const missingCount = isSchemaReadable(database) ? await countMissingRecords(database.queries) : 0;
  if (missingCount > 0)
    return fault(check, `${missingCount} occurrences have no record: data was lost; restore the last good backup`);
  return ok(check, 'sound, and every occurrence has its record');
}

function checkDurability({ durability: requiredDurability }: Config, { weakSettings }: DatabaseInspection): Finding {
  const check = 'durability';
  if (weakSettings.length === 0) return ok(check, 'confirmed writes are on disk');
  const message = `${weakSettings.join(', ')}: confirmed writes may be lost in a power failure`;
  return requiredDurability === 'any'
    ? warning(check, `${message}, as --durability any allows`)
    : fault(check, `${message}; turn it on`);
}

function checkDiskSpace({ freeBytes, bytes }: DatabaseInspection): Finding[] {
  const check = 'disk';
  if (freeBytes === undefined) return [];
  const freeText = `${formatMebibytes(freeBytes)} free`;
  if (freeBytes < MIN_FREE_BYTES) return [fault(check, `${freeText}; free disk space before writes are rejected`)];
  if (freeBytes < bytes + MIN_FREE_BYTES)
    return [
      warning(
        check,
        `${freeText}, too little for a backup next to the database; free disk space, or back up elsewhere`,
      ),
    ];
  return [ok(check, freeText)];
}

/** Maximum tolerated difference between two clocks. Above it, timestamps of different machines are out of order. */
const MAX_CLOCK_SKEW_MS = 2_000;

function checkDatabaseClock({ clockAheadMs }: DatabaseInspection): Finding[] {
  if (clockAheadMs === undefined) return [];
  const differenceText = `${Math.round(Math.abs(clockAheadMs))} ms`;
  if (Math.abs(clockAheadMs) <= MAX_CLOCK_SKEW_MS)
    return [ok('clocks', `this machine and the database: ${differenceText} apart`)];
  const direction = clockAheadMs > 0 ? 'ahead of' : 'behind';
  return [warning('clocks', `the database is ${differenceText} ${direction} this machine; synchronize both with NTP`)];
}

/** Reports a fault if the newest occurrence is in the future according to this machine's clock. */
async function checkFutureOccurrences(database: DatabaseInspection, clock: Clock): Promise<Finding[]> {
  if (!isSchemaReadable(database) || database.problems.length > 0) return [];
  const row = await database.queries
    .selectFrom('occurrences')
    .select(({ fn }) => fn.max<number | null>('occurred_at').as('latest'))
    .executeTakeFirst();
  const aheadMs = (row?.latest ?? 0) - clock.now();
  if (aheadMs <= MAX_CLOCK_SKEW_MS) return [];
  return [
    fault(
      'clock',
      `the newest occurrence is ${Math.ceil(aheadMs / 1_000)} s in the future: a clock is, or was, wrong; synchronize it with NTP`,
    ),
  ];
}

const CLOCK_SAMPLE_MS = 100;
const [MIN_PLAUSIBLE_YEAR, MAX_PLAUSIBLE_YEAR] = [2026, 2100];

async function checkSystemClock(clock: Clock): Promise<Finding> {
  const check = 'time';
  const year = new Date(clock.now()).getUTCFullYear();
  if (year < MIN_PLAUSIBLE_YEAR || year > MAX_PLAUSIBLE_YEAR)
    return fault(check, `the clock of this machine says ${year}; set it, and synchronize it with NTP`);
  const [wallMs, monotonicMs] = [clock.now(), clock.monotonic()];
  await new Promise<void>((resolve) => clock.after(CLOCK_SAMPLE_MS, resolve));
  const driftMs = Math.abs(clock.now() - wallMs - (clock.monotonic() - monotonicMs));
  if (driftMs > CLOCK_SAMPLE_MS)
    return warning(check, `the clock jumped by ${Math.round(driftMs)} ms just now; synchronize it with NTP`);
  return ok(check, `${new Date(clock.now()).toISOString()}, and steady`);
}

/** A reserved name that resolves on the public Internet (RFC 2606). */
const PUBLIC_HOST_NAME = 'example.com';
const DNS_TIMEOUT_MS = 3_000;

async function checkNameResolution(resolve: ResolveName | undefined): Promise<Finding> {
  const check = 'egress';
  if (resolve === undefined) return ok(check, 'not checked, because of --offline');
  const resolution = await resolve(PUBLIC_HOST_NAME, DNS_TIMEOUT_MS);
  if ('addresses' in resolution) return ok(check, `names resolve (${PUBLIC_HOST_NAME})`);
  if (resolution.failure === 'resolver_silent')
    return warning(
      check,
      'no DNS resolver answers: notifications wait until one does; check the resolvers of this machine',
    );
  return warning(check, `${PUBLIC_HOST_NAME} does not resolve: public targets cannot be reached from this machine`);
}
