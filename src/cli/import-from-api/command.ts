import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { writeAuditEntries } from '../../audit/actions.ts';
import { systemClock } from '../../clock.ts';
import { type Config, loadConfig } from '../../config/load.ts';
import { type ImportAccountResult, importAccount } from '../../import-from-api/move.ts';
import { fetchSourceHooks } from '../../import-from-api/rows.ts';
import { createSourceClient } from '../../import-from-api/source.ts';
import { WorkFile } from '../../import-from-api/work-file.ts';
import { isLoopback } from '../../loopback.ts';
import { permissionsOf } from '../../permissions.ts';
import { parseDomain } from '../../resources/accounts/actions.ts';
import { buildInvitationLink, insertInvitation } from '../../resources/invitations/invitations.ts';
import { insertKey } from '../../resources/keys/keys.ts';
import { systemRandom } from '../../secrets.ts';
import { TransferError } from '../../transfer/operator-report.ts';
import { version } from '../../version.ts';
import { printResult, withAccount, withCliErrors, withExclusiveStore, withStore } from '../admin/open-database.ts';
import { type BaseUrlFlags, importKeyVariableName, readBaseUrl } from '../client/connection-options.ts';
import { readEmail } from '../input/parse-flag.ts';
import { createProgressFromFlags, type ProgressFlags } from '../output/progress.ts';
import { CliError, stderr } from '../output/screen.ts';
import { createHooks, planHook } from './hooks.ts';
import { formatImportResult, toResultJson } from './report.ts';

/** Exit status if the account was imported, but some of its records were left out. */
const EXIT_RECORDS_LEFT_OUT = 2;

/** Runs `carillon import --from-api …`. */
export async function importFromApi(sourceAddress: string, flags: FromApiFlags): Promise<void> {
  const settings = readImportSettings(sourceAddress, flags);
  const consoleUrl = readBaseUrl(flags);
  const { domain, paths } = settings;
  const printLine = flags.quiet ? () => undefined : (line: string) => stderr.print(line);
  if (settings.isUnencrypted) printLine(`${settings.sourceUrl} is http: the key is sent unencrypted.`);
  const source = createSourceClient({ ...settings, clock: systemClock, print: printLine });
  await withCliErrors(async () => {
    const workFile = new WorkFile(paths.work);
    try {
      requireSameSource(workFile, { base: settings.sourceUrl, from: settings.sourceDomain }, paths);
      const accountResult = await importAccount({
        ...settings,
        source,
        workFile,
        print: printLine,
        clock: systemClock,
        progress: createProgressFromFlags(flags),
        withStore: (operation) => withStore(flags, operation),
        withExclusiveStore: (operation) => withExclusiveStore(flags, operation),
      });
      const sourceHooks = await fetchSourceHooks(source).catch((error: unknown) => {
        // The account is already imported, so unreadable hooks must not fail the command.
        if (!(error instanceof TransferError)) throw error;
        printLine(error.message);
        return undefined;
      });
      const accountFlags = { ...flags, domain };
      const { key, token } = await issueKeyAndInvitation(accountFlags, accountResult, settings.sourceUrl);
      const plannedHooks = sourceHooks?.map((hook) => planHook(hook, (id) => workFile.findNewId('projects', id)));
      const hookResults = flags.hooks
        ? await createHooks(accountFlags, accountResult.ownerId, plannedHooks ?? [], readServiceConfig())
        : plannedHooks;
      const importResult = {
        accountResult,
        key,
        invitationLink: buildInvitationLink(consoleUrl, token),
        paths,
        hooks: hookResults,
      };
      printResult(flags, toResultJson(importResult), formatImportResult(importResult));
      workFile.remove();
      if (accountResult.comparisons.some(({ isSame }) => !isSame)) process.exitCode = 1;
      if (accountResult.leftOut > 0) process.exitCode = EXIT_RECORDS_LEFT_OUT;
    } catch (error) {
      throw isFileError(error) ? new TransferError(`A file cannot be written: ${error.message}.`) : error;
    } finally {
      workFile.close();
    }
  });
}

/** Whether an error comes from the file system or from the SQLite work file, such as a full disk. */
function isFileError(error: unknown): error is Error {
  return error instanceof Error && ('syscall' in error || 'errcode' in error);
}

type ReportPaths = { readonly report: string; readonly idMap: string };

/**
 * Rejects a work file that belongs to another source. Also rejects report files of another run, which this run would
 * overwrite.
 */
function requireSameSource(
  workFile: WorkFile,
  currentSource: { base: string; from: string },
  { report, idMap }: ReportPaths,
): void {
  const storedSource = workFile.readSavedValue<typeof currentSource>('source');
  const expectedSource = storedSource ?? currentSource;
  const existingFiles = storedSource === undefined ? [report, idMap].filter((path) => existsSync(path)) : [];
  if (existingFiles.length > 0)
    throw new CliError(
      existingFiles.map((path) => `${path} already exists: give other files with --report and --id-map.`),
    );
  if (expectedSource.base !== currentSource.base || expectedSource.from !== currentSource.from)
    throw new CliError([
      `${workFile.path} belongs to an import of ${expectedSource.from} from ${expectedSource.base}: give another file with --work.`,
    ]);
  workFile.saveValue('source', expectedSource);
}

/** Issues a new key and an invitation for the owner, since keys and passphrases are not imported. */
async function issueKeyAndInvitation(
  flags: FromApiFlags & { readonly domain: string },
  { ownerId, comparisons }: ImportAccountResult,
  sourceUrl: string,
): Promise<{ key: string; token: string }> {
  return withAccount(flags, async (write) => {
    const user = await write
      .selectFrom('users')
      .select('users.role')
      .where('users.user_id', '=', ownerId)
      .executeTakeFirstOrThrow();
    const recordCounts = Object.fromEntries(comparisons.map(({ resourceType, here }) => [resourceType, here]));
    writeAuditEntries(write, {
      action: 'account.imported',
      subject: `account ${flags.domain}`,
      detail: { from: sourceUrl, ...recordCounts },
    });
    const role = user.role === 'owner' || user.role === 'admin' ? user.role : 'member';
    const keyInput = { userId: ownerId, label: 'moved in', permissions: permissionsOf(role), expiresAt: null };
    const { key = '' } = await insertKey(write, keyInput, systemRandom);
    const { token } = await insertInvitation(write, ownerId, systemRandom);
    return { key: String(key), token };
  });
}

/** Reads the configuration from environment variables. The configuration determines which hook targets are allowed. */
function readServiceConfig(): Config {
  const configResult = loadConfig({ flags: {}, environment: process.env });
  if ('faults' in configResult) throw new CliError(configResult.faults);
  return configResult.config;
}

export type FromApiFlags = ProgressFlags &
  BaseUrlFlags & {
    readonly domain?: string;
    readonly key?: string;
    readonly keyFile?: string;
    readonly asDomain?: string;
    readonly ownerEmail?: string;
    readonly work?: string;
    readonly report?: string;
    readonly idMap?: string;
    readonly rate?: string;
    readonly readings?: string;
    readonly strict?: true;
    readonly hooks?: true;
  };

/** Validates the flags of `import --from-api`. Error messages never contain the key. */
export function readImportSettings(sourceAddress: string, flags: FromApiFlags, environment = process.env) {
  const sourceDomain = flags.domain?.trim().toLowerCase();
  if (sourceDomain === undefined) throw new CliError(['Give --domain with the account at the other service.']);
  const domain = parseDomain(flags.asDomain ?? sourceDomain);
  if (domain === undefined)
    throw new CliError([
      `--as-domain must be a host name, such as acme.example; ${flags.asDomain ?? sourceDomain} is not one.`,
    ]);
  const sourceUrl = readSourceUrl(sourceAddress);
  const { protocol, hostname } = new URL(sourceUrl);
  const filePrefix = `carillon-from-${sourceDomain.replace(/[^a-z0-9.-]/g, '_')}`;
  const paths = {
    work: flags.work ?? `${filePrefix}.part`,
    report: flags.report ?? `${filePrefix}.report.jsonl`,
    idMap: flags.idMap ?? `${filePrefix}.ids.jsonl`,
  };
  if (new Set([`${paths.work}.jsonl`, ...Object.values(paths)].map((path) => resolve(path))).size < 4)
    throw new CliError(['--work, --report and --id-map must be three different files.']);
  const userAgent = `Carillon/${version} (import; +https://www.npmjs.com/package/carillon)`;
  return {
    sourceUrl,
    sourceDomain,
    domain,
    paths,
    isUnencrypted: protocol === 'http:' && !isLoopback(hostname),
    headers: {
      key: readSourceKey(flags, environment),
      domain: readHeaderValue('--domain', sourceDomain),
      accept: 'application/json',
      'user-agent': userAgent,
    },
    requestsPerSecond: readWholeNumber('--rate', flags.rate ?? '10', 1, 1_000),
    readings: readWholeNumber('--readings', flags.readings ?? '3', 1, 100),
    ownerEmail: flags.ownerEmail === undefined ? undefined : readEmail(flags.ownerEmail, '--owner-email'),
    isStrict: flags.strict ?? false,
  };
}

function readSourceUrl(sourceAddress: string): string {
  const url = URL.canParse(sourceAddress) ? new URL(sourceAddress) : undefined;
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === undefined || !isHttp || url.username + url.password + url.search + url.hash !== '')
    throw new CliError(['--from-api must be an http or https address without user name, query and fragment.']);
  return `${url.origin}${url.pathname}`.replace(/([^/])\/+$/, '$1').replace(/\/v2$/, '');
}

/**
 * Reads the key of the source from `--key-file`, `--key` or the environment. Unlike a flag, a file or standard input
 * (`-`) is not visible in the process list.
 */
function readSourceKey({ key, keyFile }: FromApiFlags, environment: NodeJS.ProcessEnv): string {
  const environmentKey = environment[importKeyVariableName];
  if (key !== undefined && keyFile !== undefined) throw new CliError(['--key and --key-file cannot be combined.']);
  const keyText = keyFile === undefined ? (key ?? environmentKey) : readKeyFile(keyFile);
  if (keyText === undefined || keyText.trim() === '')
    throw new CliError([`Give the key of the other service with --key-file, ${importKeyVariableName} or --key.`]);
  return readHeaderValue('The key', keyText.trim());
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new CliError([`--key-file cannot be read: ${error instanceof Error ? error.message : error}.`]);
  }
}

function readHeaderValue(valueName: string, text: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new CliError([`${valueName} must be visible ASCII characters, to be sent as a header.`]);
}

function readWholeNumber(flag: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new CliError([`${flag} must be a whole number from ${min} to ${max}; ${text} is not one.`]);
}
