import { type Clock, sleep } from '../../clock.ts';
import type { Config } from '../../config/load.ts';
import { findRiskyOrigins } from '../../config/origins.ts';
import { countMissingRecords } from '../../delivery/maintenance/integrity-check.ts';
import type { ResolveName } from '../../delivery/transport/dns-resolver.ts';
import type { AllowRule } from '../../delivery/transport/ssrf-guard.ts';
import { isLoopback } from '../../loopback.ts';
import { formatMebibytes } from '../../store/backup/backup.ts';
import { formatDatabaseLocation } from '../../store/database-url.ts';
import type { DatabaseInspection } from '../../store/store.ts';

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
  readonly unknownVariableNames: readonly string[];
  /**
   * Inspection of the database; undefined if the database does not exist yet, an error message if the database cannot
   * be reached.
   */
  readonly inspection: DatabaseInspection | string | undefined;
  readonly clock: Clock;
  /** Resolves host names. Undefined with `--offline`, so that checks which need the network are skipped. */
  readonly resolve: ResolveName | undefined;
};

const createOk = (checkName: string, message: string): Finding => ({ check: checkName, state: 'ok', message });
const createWarning = (checkName: string, message: string): Finding => ({
  check: checkName,
  state: 'warning',
  message,
});
const createFault = (checkName: string, message: string): Finding => ({ check: checkName, state: 'fault', message });

/** Runs all checks, in the order in which problems should be fixed. */
export async function checkInstallation(input: CheckInput): Promise<Finding[]> {
  const { config, unknownVariableNames, inspection, clock, resolve } = input;
  return [
    checkConfiguration(unknownVariableNames),
    ...checkBaseUrl(config),
    ...checkAllowedTargets(config),
    ...checkCorsOrigins(config),
    ...(await checkDatabase(config, inspection, clock)),
    await checkSystemClock(clock),
    await checkNameResolution(resolve),
  ];
}

function checkConfiguration(unknownVariableNames: readonly string[]): Finding {
  if (unknownVariableNames.length === 0) return createOk('configuration', 'all options are valid');
  return createWarning(
    'configuration',
    `${unknownVariableNames.join(', ')}: not an option of Carillon; correct or remove it`,
  );
}

function checkBaseUrl({ host, port, baseUrl, trustProxy }: Config): Finding[] {
  const checkName = 'base address';
  if (baseUrl === undefined) return [createOk(checkName, `http://${host}:${port}, because --base-url is not set`)];
  const url = new URL(baseUrl);
  const isLoopbackUrl = isLoopback(url.hostname);
  if (isLoopbackUrl && !isLoopback(host))
    return [
      createWarning(
        checkName,
        `${baseUrl} points every other machine to itself; set the address that other machines use`,
      ),
    ];
  if (isLoopbackUrl) return [createOk(checkName, baseUrl)];
  const warnings: Finding[] = [];
  if (url.protocol === 'http:')
    warnings.push(
      createWarning(checkName, `${baseUrl} is not https: keys can be read in transit; put a proxy with TLS in front`),
    );
  if (url.protocol === 'https:' && trustProxy.length === 0)
    warnings.push(
      createWarning(checkName, 'behind a TLS proxy, logs show its address for every caller; add it to --trust-proxy'),
    );
  return warnings.length > 0 ? warnings : [createOk(checkName, baseUrl)];
}

/** Whether a rule allows an address range so wide that it is probably a mistake. */
const isWideRange = (rule: AllowRule) => rule.kind === 'range' && rule.bits < 8;

function checkAllowedTargets({ allowTargets: allowRules }: Config): Finding[] {
  const checkName = 'targets';
  if (allowRules.length === 0) return [createOk(checkName, 'private networks are blocked')];
  const wideRanges = allowRules.filter(isWideRange).map(({ text }) => text);
  if (wideRanges.length > 0)
    return [
      createWarning(
        checkName,
        `--allow-targets opens ${wideRanges.join(', ')}: anyone with a key can reach all of it; use narrower ranges`,
      ),
    ];
  return [
    createOk(checkName, `open in addition to public addresses: ${allowRules.map(({ text }) => text).join(', ')}`),
  ];
}

function checkCorsOrigins({ corsOrigins: origins }: Config): Finding[] {
  return findRiskyOrigins(origins).map(({ origin, risk }) =>
    createWarning('origins', `--cors-origins holds ${origin}: ${risk}`),
  );
}

/** Minimum free disk space, in bytes. With less, a busy service may fill the disk within an hour. */
const MIN_FREE_BYTES = 256 * 1_024 * 1_024;

async function checkDatabase(config: Config, inspection: CheckInput['inspection'], clock: Clock): Promise<Finding[]> {
  const databaseText = formatDatabaseLocation(config.database);
  if (inspection === undefined)
    return [createWarning('database', `none at ${databaseText} yet; carillon serve creates it, or correct --database`)];
  if (typeof inspection === 'string')
    return [
      createFault(
        'database',
        `${databaseText} cannot be reached: ${inspection}; check --database, permissions, and that it is running`,
      ),
    ];
  const { engine, sizeBytes, locationProblems: locationErrors } = inspection;
  const databaseSummary = `${databaseText}, ${engine}, ${formatMebibytes(sizeBytes)}`;
  return [
    locationErrors.length === 0
      ? createOk('database', databaseSummary)
      : createFault('database', `${locationErrors.join('; ')}; move it to a local disk`),
    checkSchema(inspection),
    await checkIntegrity(inspection),
    checkDurability(config, inspection),
    ...checkDiskSpace(inspection),
    ...checkDatabaseClock(inspection),
    ...(await checkFutureOccurrences(inspection, clock)),
    createOk('service', inspection.isServiceRunning ? 'running on the database' : 'not running on the database'),
  ];
}

function checkSchema({ schemaVersion, newestSchemaVersion }: DatabaseInspection): Finding {
  const checkName = 'schema';
  if (schemaVersion > newestSchemaVersion)
    return createFault(checkName, `version ${schemaVersion} is from a newer Carillon; update Carillon`);
  if (schemaVersion < newestSchemaVersion)
    return createWarning(
      checkName,
      `version ${schemaVersion} of ${newestSchemaVersion}; the next start migrates it; make a backup first`,
    );
  return createOk(checkName, `version ${schemaVersion}, up to date`);
}

const isSchemaReadable = ({ schemaVersion, newestSchemaVersion }: DatabaseInspection) =>
  schemaVersion > 0 && schemaVersion <= newestSchemaVersion;

async function checkIntegrity(inspection: DatabaseInspection): Promise<Finding> {
  const checkName = 'integrity';
  if (inspection.integrityErrors.length > 0)
    return createFault(
      checkName,
      `${inspection.integrityErrors.join('; ')}; stop the service and restore the last good backup`,
    );
  const missingCount = isSchemaReadable(inspection) ? await countMissingRecords(inspection.queries) : 0;
  if (missingCount > 0)
    return createFault(
      checkName,
      `${missingCount} occurrences have no record: data was lost; restore the last good backup`,
    );
  return createOk(checkName, 'sound, and every occurrence has its record');
}

function checkDurability({ durability: requiredDurability }: Config, { weakSettings }: DatabaseInspection): Finding {
  const checkName = 'durability';
  if (weakSettings.length === 0) return createOk(checkName, 'confirmed writes are on disk');
  const message = `${weakSettings.join(', ')}: confirmed writes may be lost in a power failure`;
  return requiredDurability === 'any'
    ? createWarning(checkName, `${message}, as --durability any allows`)
    : createFault(checkName, `${message}; turn it on`);
}

function checkDiskSpace({ freeBytes, sizeBytes }: DatabaseInspection): Finding[] {
  const checkName = 'disk';
  if (freeBytes === undefined) return [];
  const freeText = `${formatMebibytes(freeBytes)} free`;
  if (freeBytes < MIN_FREE_BYTES)
    return [createFault(checkName, `${freeText}; free disk space before writes are rejected`)];
  if (freeBytes < sizeBytes + MIN_FREE_BYTES)
    return [
      createWarning(
        checkName,
        `${freeText}, too little for a backup next to the database; free disk space, or back up elsewhere`,
      ),
    ];
  return [createOk(checkName, freeText)];
}

/** Maximum tolerated difference between two clocks. A larger one puts timestamps of different machines out of order. */
const MAX_CLOCK_SKEW_MS = 2_000;

function checkDatabaseClock({ clockAheadMs }: DatabaseInspection): Finding[] {
  if (clockAheadMs === undefined) return [];
  const differenceText = `${Math.round(Math.abs(clockAheadMs))} ms`;
  if (Math.abs(clockAheadMs) <= MAX_CLOCK_SKEW_MS)
    return [createOk('clocks', `this machine and the database: ${differenceText} apart`)];
  const direction = clockAheadMs > 0 ? 'ahead of' : 'behind';
  return [
    createWarning('clocks', `the database is ${differenceText} ${direction} this machine; synchronize both with NTP`),
  ];
}

/** Reports a fault if the newest occurrence (domain event) is in the future according to this machine's clock. */
async function checkFutureOccurrences(inspection: DatabaseInspection, clock: Clock): Promise<Finding[]> {
  if (!isSchemaReadable(inspection) || inspection.integrityErrors.length > 0) return [];
  const row = await inspection.queries
    .selectFrom('occurrences')
    .select(({ fn }) => fn.max<number | null>('occurred_at').as('latest'))
    .executeTakeFirst();
  const aheadMs = (row?.latest ?? 0) - clock.now();
  if (aheadMs <= MAX_CLOCK_SKEW_MS) return [];
  return [
    createFault(
      'clock',
      `the newest occurrence is ${Math.ceil(aheadMs / 1_000)} s in the future: a clock is, or was, wrong; synchronize it with NTP`,
    ),
  ];
}

/** How long the system clock is compared with the monotonic clock, which never jumps. */
const CLOCK_SAMPLE_MS = 100;
const [MIN_PLAUSIBLE_YEAR, MAX_PLAUSIBLE_YEAR] = [2026, 2100];

async function checkSystemClock(clock: Clock): Promise<Finding> {
  const checkName = 'time';
  const year = new Date(clock.now()).getUTCFullYear();
  if (year < MIN_PLAUSIBLE_YEAR || year > MAX_PLAUSIBLE_YEAR)
    return createFault(checkName, `the clock of this machine says ${year}; set it, and synchronize it with NTP`);
  const [startWallMs, startMonotonicMs] = [clock.now(), clock.monotonic()];
  await sleep(clock, CLOCK_SAMPLE_MS);
  const driftMs = Math.abs(clock.now() - startWallMs - (clock.monotonic() - startMonotonicMs));
  if (driftMs > CLOCK_SAMPLE_MS)
    return createWarning(checkName, `the clock jumped by ${Math.round(driftMs)} ms just now; synchronize it with NTP`);
  return createOk(checkName, `${new Date(clock.now()).toISOString()}, and steady`);
}

/** A reserved name that resolves on the public Internet (RFC 2606). */
const PUBLIC_HOST_NAME = 'example.com';
const DNS_TIMEOUT_MS = 3_000;

async function checkNameResolution(resolve: ResolveName | undefined): Promise<Finding> {
  const checkName = 'egress';
  if (resolve === undefined) return createOk(checkName, 'not checked, because of --offline');
  const resolution = await resolve(PUBLIC_HOST_NAME, DNS_TIMEOUT_MS);
  if ('addresses' in resolution) return createOk(checkName, `names resolve (${PUBLIC_HOST_NAME})`);
  if (resolution.failure === 'resolver_silent')
    return createWarning(
      checkName,
      'no DNS resolver answers: notifications wait until one does; check the resolvers of this machine',
    );
  return createWarning(
    checkName,
    `${PUBLIC_HOST_NAME} does not resolve: public targets cannot be reached from this machine`,
  );
}
