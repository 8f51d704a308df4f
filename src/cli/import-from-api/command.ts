import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { writeAuditEntries } from '../../audit/actions.ts';
import { systemClock } from '../../clock.ts';
import { type Config, loadConfig } from '../../config/load.ts';
import { type ImportAccountResult, importAccount } from '../../import-from-api/move.ts';
import { listHooks } from '../../import-from-api/rows.ts';
import { createSource } from '../../import-from-api/source.ts';
import { WorkFile } from '../../import-from-api/work-file.ts';
import { isLoopback } from '../../loopback.ts';
import { permissionsOf } from '../../permissions.ts';
import { parseDomain } from '../../resources/accounts/actions.ts';
import { insertInvitation, invitationLink } from '../../resources/invitations/invitations.ts';
import { insertKey } from '../../resources/keys/keys.ts';
import { systemRandom } from '../../secrets.ts';
import { TransferError } from '../../transfer/transfer-error.ts';
import { version } from '../../version.ts';
import { printResult, withAccount, withCliErrors, withExclusiveStore, withStore } from '../admin/open-database.ts';
import { type BaseUrlFlags, importKeyVariableName, readBaseUrl } from '../client/connect.ts';
import { readEmail } from '../input/parse-flag.ts';
import { type ProgressFlags, progressFromFlags } from '../output/progress.ts';
import { CliError, stderr } from '../output/screen.ts';
import { createHooks } from './hooks.ts';
import { resultJson, resultLines } from './report.ts';

/** Exit status if the account was imported, but some of its records were left out. */
const EXIT_WITH_SKIPPED = 2;

/** Runs `carillon import --from-api …`. */
export async function importFromApi(address: string, flags: FromApiFlags): Promise<void> {
  const settings = readSettings(address, flags);
  const consoleUrl = readBaseUrl(flags);
  const { domain, paths } = settings;
  const printLine = flags.quiet ? () => undefined : (line: string) => stderr.print(line);
  if (settings.isUnencrypted) printLine(`${settings.base} is http: the key is sent unencrypted.`);
  const source = createSource({ ...settings, clock: systemClock, print: printLine });
  await withCliErrors(async () => {
    const work = new WorkFile(paths.work);
    try {
      requireSameSource(work, { base: settings.base, from: settings.from }, paths);
      const moved = await importAccount({
        ...settings,
        source,
        work,
        print: printLine,
        clock: systemClock,
        progress: progressFromFlags(flags),
        withStore: (job) => withStore(flags, job),
        withExclusiveStore: (job) => withExclusiveStore(flags, job),
      });
      const hooks = await listHooks(source).catch((error: unknown) => {
        // The account is already imported, so unreadable hooks must not fail the command.
        if (!(error instanceof TransferError)) throw error;
        printLine(error.message);
        return undefined;
      });
      const account = { ...flags, domain };
      const { key, token } = await issueAccess(account, moved, settings.base);
      const hookResults = flags.hooks ? await createHooks(account, moved.ownerId, hooks ?? [], readConfig()) : hooks;
      const importResult = { moved, key, link: invitationLink(consoleUrl, token), paths, hooks: hookResults };
      printResult(flags, resultJson(importResult), resultLines(importResult));
      work.remove();
      if (moved.compared.some(({ isSame }) => !isSame)) process.exitCode = 1;
      if (moved.leftOut > 0) process.exitCode = EXIT_WITH_SKIPPED;
    } catch (error) {
      throw isSystemError(error) ? new TransferError(`A file cannot be written: ${error.message}.`) : error;
    } finally {
      work.close();
    }
  });
}

/** Whether an error comes from the file system or from the SQLite work file, such as a full disk. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && ('syscall' in error || 'errcode' in error);
}

type ReportPaths = { readonly report: string; readonly idMap: string };

/**
 * Rejects a work file that belongs to another source. Also rejects report files of another run, which this run would
 * overwrite.
 */
function requireSameSource(work: WorkFile, now: { base: string; from: string }, { report, idMap }: ReportPaths): void {
  const stored = work.readFact<typeof now>('source');
  const begun = stored ?? now;
  const existing = stored === undefined ? [report, idMap].filter((path) => existsSync(path)) : [];
  if (existing.length > 0)
    throw new CliError(existing.map((path) => `${path} already exists: give other files with --report and --id-map.`));
  if (begun.base !== now.base || begun.from !== now.from)
    throw new CliError([
      `${work.path} belongs to an import of ${begun.from} from ${begun.base}: give another file with --work.`,
    ]);
  work.writeFact('source', begun);
}

/** Issues a new key and an invitation for the owner, since keys and passphrases are not imported. */
async function issueAccess(
  flags: FromApiFlags & { readonly domain: string },
  { ownerId, compared }: ImportAccountResult,
  base: string,
): Promise<{ key: string; token: string }> {
  return withAccount(flags, async (write) => {
    const user = await write
      .selectFrom('users')
      .select('users.role')
      .where('users.user_id', '=', ownerId)
      .executeTakeFirstOrThrow();
    const records = Object.fromEntries(compared.map(({ resourceType, here }) => [resourceType, here]));
    writeAuditEntries(write, {
      action: 'account.moved_in',
      subject: `account ${flags.domain}`,
      detail: { from: base, ...records },
    });
    const role = user.role === 'owner' || user.role === 'admin' ? user.role : 'member';
    const keyInput = { userId: ownerId, label: 'moved in', permissions: permissionsOf(role), expiresAt: null };
    const { key = '' } = await insertKey(write, keyInput, systemRandom);
    const { token } = await insertInvitation(write, ownerId, systemRandom);
    return { key: String(key), token };
  });
}

/** Reads the configuration that a service has in this environment. It determines which hook targets are allowed. */
function readConfig(): Config {
  const loaded = loadConfig({ flags: {}, environment: process.env });
  if ('faults' in loaded) throw new CliError(loaded.faults);
  return loaded.config;
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
export function readSettings(address: string, flags: FromApiFlags, environment = process.env) {
  const from = flags.domain?.trim().toLowerCase();
  if (from === undefined) throw new CliError(['Give --domain with the account at the other service.']);
  const domain = parseDomain(flags.asDomain ?? from);
  if (domain === undefined)
    throw new CliError([
      `--as-domain must be a host name, such as acme.example; ${flags.asDomain ?? from} is not one.`,
    ]);
  const base = readSourceUrl(address);
  const { protocol, hostname } = new URL(base);
  const name = `carillon-from-${from.replace(/[^a-z0-9.-]/g, '_')}`;
  const paths = {
    work: flags.work ?? `${name}.part`,
    report: flags.report ?? `${name}.report.jsonl`,
    idMap: flags.idMap ?? `${name}.ids.jsonl`,
  };
  if (new Set([`${paths.work}.jsonl`, ...Object.values(paths)].map((path) => resolve(path))).size < 4)
    throw new CliError(['--work, --report and --id-map must be three different files.']);
  const agent = `Carillon/${version} (import; +https://www.npmjs.com/package/carillon)`;
  return {
    base,
    from,
    domain,
    paths,
    isUnencrypted: protocol === 'http:' && !isLoopback(hostname),
    headers: {
      key: readKey(flags, environment),
      domain: readHeaderValue('--domain', from),
      accept: 'application/json',
      'user-agent': agent,
    },
    rate: readNumber('--rate', flags.rate ?? '10', 1, 1_000),
    readings: readNumber('--readings', flags.readings ?? '3', 1, 100),
    ownerEmail: flags.ownerEmail === undefined ? undefined : readEmail(flags.ownerEmail, '--owner-email'),
    isStrict: flags.strict ?? false,
  };
}

function readSourceUrl(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === undefined || !isHttp || url.username + url.password + url.search + url.hash !== '')
    throw new CliError(['--from-api must be an http or https address without user name, query and fragment.']);
  return `${url.origin}${url.pathname}`.replace(/([^/])\/+$/, '$1').replace(/\/v2$/, '');
}

/**
 * Reads the key of the source from `--key-file`, `--key` or the environment. Unlike a flag, a file or standard input
 * (`-`) is not visible in the process list.
 */
function readKey({ key, keyFile }: FromApiFlags, environment: NodeJS.ProcessEnv): string {
  const variable = environment[importKeyVariableName];
  if (key !== undefined && keyFile !== undefined) throw new CliError(['--key and --key-file cannot be combined.']);
  const text = keyFile === undefined ? (key ?? variable) : readKeyFile(keyFile);
  if (text === undefined || text.trim() === '')
    throw new CliError([`Give the key of the other service with --key-file, ${importKeyVariableName} or --key.`]);
  return readHeaderValue('The key', text.trim());
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new CliError([`--key-file cannot be read: ${error instanceof Error ? error.message : error}.`]);
  }
}

function readHeaderValue(what: string, text: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new CliError([`${what} must be visible ASCII characters, to be sent as a header.`]);
}

function readNumber(flag: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new CliError([`${flag} must be a whole number from ${min} to ${max}; ${text} is not one.`]);
}
