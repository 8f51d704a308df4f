import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { writeAuditEntriesAcrossAccounts } from '../../audit/actions.ts';
import { systemClock } from '../../clock.ts';
import { countMissingRecords } from '../../delivery/maintenance/integrity-check.ts';
import { COMMAND_LINE_ACTOR } from '../../permissions.ts';
import { revokeAllSessionsAndInvitations } from '../../resources/auth/revoke-access.ts';
import { backUpDatabase, fileTimestamp, mebibytes } from '../../store/backup/backup.ts';
import { beginEpoch, type Epoch } from '../../store/backup/epoch.ts';
import { replaceDatabase } from '../../store/backup/restore.ts';
import type { Sequences } from '../../store/sequences.ts';
import { type Queries, StoreError, type Tx } from '../../store/store.ts';
import { CliError } from '../output/screen.ts';
import {
  addDatabaseOptions,
  type DatabaseFlags,
  printResult,
  readDatabase,
  withCliErrors,
  withExclusiveStore,
} from './open-database.ts';

type BackupFlags = DatabaseFlags & { readonly to?: string };

/** Registers the command `carillon backup`. */
export function addBackup(program: Command): void {
  addDatabaseOptions(program.command('backup'))
    .description('Back up an SQLite database and verify the backup. The service may run meanwhile.')
    .option('--to <path>', 'File to write, or a folder for it. Nothing is overwritten. Default: next to the database.')
    .action(async (flags: BackupFlags) => {
      const database = readDatabase(flags);
      if (database.scheme === 'postgres') {
        throw new CliError([
          'Back up PostgreSQL with its own tools, such as pg_dump --format=custom; docs/operating.md describes backup and restore.',
        ]);
      }
      const begun = systemClock.monotonic();
      const to = backupPath(database.path, flags.to);
      const { bytes, version, checkResult } = await withCliErrors(() => backUpDatabase(database.path, to, inspectCopy));
      const seconds = Math.round(systemClock.monotonic() - begun) / 1_000;
      printResult(flags, { file: to, bytes, version, ...checkResult, seconds }, [
        `file: ${to}`,
        `size: ${mebibytes(bytes)}`,
        `version: ${version}`,
        `accounts: ${checkResult.accounts}`,
        `occurrences: ${checkResult.occurrences}`,
        `position: ${checkResult.position}`,
        'verified: sound, and every occurrence has its record',
        `seconds: ${seconds}`,
      ]);
    });
}

/**
 * Returns the path of the backup file. If `to` is omitted or names a folder, the file name contains the current time.
 */
function backupPath(path: string, to: string | undefined): string {
  const name = `backup-${fileTimestamp(systemClock.now())}`;
  if (to === undefined) return `${path}.${name}`;
  return existsSync(to) && statSync(to).isDirectory() ? join(to, `carillon-${name}.db`) : to;
}

/**
 * Verifies the copy, and counts its accounts and occurrences. `position` is the highest feed position of any account.
 */
async function inspectCopy(queries: Queries): Promise<{ accounts: number; occurrences: number; position: number }> {
  const missing = await countMissingRecords(queries);
  if (missing > 0) throw new StoreError(`${missing} occurrences have no record; run carillon doctor on the database.`);
  const positions = await queries
    .selectFrom('positions')
    .select(({ fn }) => [fn.countAll<number>().as('accounts'), fn.max<number | null>('position').as('position')])
    .executeTakeFirstOrThrow();
  const { occurrences } = await queries
    .selectFrom('occurrences')
    .select(({ fn }) => fn.countAll<number>().as('occurrences'))
    .executeTakeFirstOrThrow();
  return { accounts: positions.accounts, occurrences, position: positions.position ?? 0 };
}

type RestoreFlags = DatabaseFlags & { readonly from?: string; readonly force?: true; readonly afterRestore?: true };

/** Registers the command `carillon restore`. */
export function addRestore(program: Command): void {
  addDatabaseOptions(program.command('restore'))
    .description('Restore a backup. Ids and cursors issued after it are never issued again.')
    .option('--from <file>', 'Backup of an SQLite database. It is not changed.')
    .option('--force', 'Replace an existing database. It is kept under another name.')
    .option('--after-restore', 'Only begin a new epoch: the backup is already in place, as after pg_restore.')
    .action(async (flags: RestoreFlags) => {
      if (flags.afterRestore) return beginNewEpoch(flags);
      const database = readDatabase(flags);
      if (database.scheme === 'postgres') {
        throw new CliError([
          'Restore PostgreSQL with its own tools, then run restore --after-restore; docs/operating.md describes the steps.',
        ]);
      }
      if (flags.from === undefined) throw new CliError(['Give the backup with --from.']);
      return restoreFromFile(flags, database.path, flags.from);
    });
}

async function restoreFromFile(flags: RestoreFlags, path: string, from: string): Promise<void> {
  const now = systemClock.now();
  const prepare = (tx: RestoreTransaction, sequences: Sequences) => beginAuditedEpoch(tx, sequences, now, { from });
  const done = await withCliErrors(() =>
    replaceDatabase({ path, from, stamp: fileTimestamp(now), force: flags.force === true, prepare }),
  );
  printRestoreResult(flags, { database: path, from, kept: done.kept ?? null }, done.prepared);
}

/** Begins a new epoch after the database was restored with other tools, such as pg_restore. */
async function beginNewEpoch(flags: RestoreFlags): Promise<void> {
  if (flags.from !== undefined) throw new CliError(['--after-restore and --from cannot be combined.']);
  const now = systemClock.now();
  const epoch = await withExclusiveStore(flags, async (store) => {
    const served = await store.clusterSession?.connectedNodes();
    if (served !== undefined && served.size > 0)
      throw new CliError(['Services are running on the database. Stop all of them first.']);
    return store.write((tx) => beginAuditedEpoch(tx, store.sequences, now, { from: 'by other means' }));
  });
  printRestoreResult(flags, {}, epoch);
}

type RestoreTransaction = Pick<Tx, 'queries' | 'withCommit'>;

async function beginAuditedEpoch(
  tx: RestoreTransaction,
  sequences: Sequences,
  now: number,
  detail: object,
): Promise<Epoch> {
  const epoch = await beginEpoch(tx.queries, sequences, now);
  await revokeAllSessionsAndInvitations(tx.queries);
  const entry = { action: 'database.restored', subject: '', detail: { ...detail, epoch: epoch.start } } as const;
  writeAuditEntriesAcrossAccounts(tx, [{ ...entry, accountId: 0, by: COMMAND_LINE_ACTOR }], now);
  return epoch;
}

function printRestoreResult(
  flags: RestoreFlags,
  files: Readonly<Record<string, string | null>>,
  { start, accounts }: Epoch,
): void {
  const lines = Object.entries(files)
    .filter(([, file]) => file !== null)
    .map(([name, file]) => `${name}: ${file}`);
  printResult(flags, { ...files, accounts, epoch: start }, [
    ...lines,
    `accounts: ${accounts}`,
    `epoch: ${start}`,
    'Start the service. Earlier cursors are invalid now. Deliveries that were pending at the time of the backup are sent again. Users must sign in again.',
  ]);
}
