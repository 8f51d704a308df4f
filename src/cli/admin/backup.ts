import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { writeAuditEntriesAcrossAccounts } from '../../audit/actions.ts';
import { systemClock } from '../../clock.ts';
import { countMissingRecords } from '../../delivery/maintenance/integrity-check.ts';
import { COMMAND_LINE_ACTOR } from '../../permissions.ts';
import { revokeAllSessionsAndInvitations } from '../../resources/auth/revoke-access.ts';
import { backUpDatabase, formatFileTimestamp, formatMebibytes } from '../../store/backup/backup.ts';
import { beginEpoch, type Epoch } from '../../store/backup/epoch.ts';
import { restoreBackup } from '../../store/backup/restore.ts';
import type { Sequences } from '../../store/sequences.ts';
import { type Queries, StoreError, type Tx } from '../../store/store.ts';
import { CliError } from '../output/screen.ts';
import {
  addDatabaseOptions,
  type DatabaseFlags,
  printResult,
  readDatabaseLocation,
  withCliErrors,
  withExclusiveStore,
} from './open-database.ts';

type BackupFlags = DatabaseFlags & { readonly to?: string };

/** Registers the command `carillon backup`. */
export function addBackupCommand(program: Command): void {
  addDatabaseOptions(program.command('backup'))
    .description('Back up an SQLite database and verify the backup. The service may run meanwhile.')
    .option('--to <path>', 'File to write, or a folder for it. Nothing is overwritten. Default: next to the database.')
    .action(async (flags: BackupFlags) => {
      const databaseLocation = readDatabaseLocation(flags);
      if (databaseLocation.scheme === 'postgres') {
        throw new CliError([
          'Back up PostgreSQL with its own tools, such as pg_dump --format=custom; docs/operating.md describes backup and restore.',
        ]);
      }
      const startedAtMs = systemClock.monotonic();
      const destinationPath = chooseBackupPath(databaseLocation.path, flags.to);
      const { bytes, version, checkResult } = await withCliErrors(() =>
        backUpDatabase(databaseLocation.path, destinationPath, inspectBackup),
      );
      const seconds = Math.round(systemClock.monotonic() - startedAtMs) / 1_000;
      printResult(flags, { file: destinationPath, bytes, version, ...checkResult, seconds }, [
        `file: ${destinationPath}`,
        `size: ${formatMebibytes(bytes)}`,
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
 * Returns the path of the backup file. Without `destination`, or if it is a folder, the file name contains the current
 * time.
 */
function chooseBackupPath(databasePath: string, destination: string | undefined): string {
  const nameSuffix = `backup-${formatFileTimestamp(systemClock.now())}`;
  if (destination === undefined) return `${databasePath}.${nameSuffix}`;
  return existsSync(destination) && statSync(destination).isDirectory()
    ? join(destination, `carillon-${nameSuffix}.db`)
    : destination;
}

/**
 * Checks that each occurrence in the backup has its record, and counts the accounts and occurrences. `position` is the
 * highest feed position of any account.
 */
async function inspectBackup(queries: Queries): Promise<{ accounts: number; occurrences: number; position: number }> {
  const missingCount = await countMissingRecords(queries);
  if (missingCount > 0)
    throw new StoreError(`${missingCount} occurrences have no record; run carillon doctor on the database.`);
  const feedTotals = await queries
    .selectFrom('positions')
    .select(({ fn }) => [fn.countAll<number>().as('accounts'), fn.max<number | null>('position').as('position')])
    .executeTakeFirstOrThrow();
  const { occurrences } = await queries
    .selectFrom('occurrences')
    .select(({ fn }) => fn.countAll<number>().as('occurrences'))
    .executeTakeFirstOrThrow();
  return { accounts: feedTotals.accounts, occurrences, position: feedTotals.position ?? 0 };
}

type RestoreFlags = DatabaseFlags & { readonly from?: string; readonly force?: true; readonly afterRestore?: true };

/** Registers the command `carillon restore`. */
export function addRestoreCommand(program: Command): void {
  addDatabaseOptions(program.command('restore'))
    .description('Restore a backup. Ids and cursors issued after it are never issued again.')
    .option('--from <file>', 'Backup of an SQLite database. It is not changed.')
    .option('--force', 'Replace an existing database. It is kept under another name.')
    .option('--after-restore', 'Only begin a new epoch: the backup is already in place, as after pg_restore.')
    .action(async (flags: RestoreFlags) => {
      if (flags.afterRestore) return beginEpochAfterRestore(flags);
      const databaseLocation = readDatabaseLocation(flags);
      if (databaseLocation.scheme === 'postgres') {
        throw new CliError([
          'Restore PostgreSQL with its own tools, then run restore --after-restore; docs/operating.md describes the steps.',
        ]);
      }
      if (flags.from === undefined) throw new CliError(['Give the backup with --from.']);
      return restoreFromFile(flags, databaseLocation.path, flags.from);
    });
}

async function restoreFromFile(flags: RestoreFlags, databasePath: string, backupPath: string): Promise<void> {
  const now = systemClock.now();
  const beginRestoreEpoch = (tx: RestoreTransaction, sequences: Sequences) =>
    beginAuditedEpoch(tx, sequences, now, { from: backupPath });
  const restoreResult = await withCliErrors(() =>
    restoreBackup({
      path: databasePath,
      backupPath,
      keptSuffix: formatFileTimestamp(now),
      mayReplaceExisting: flags.force === true,
      prepareCopy: beginRestoreEpoch,
    }),
  );
  printRestoreResult(
    flags,
    { database: databasePath, from: backupPath, kept: restoreResult.keptPath ?? null },
    restoreResult.prepareResult,
  );
}

/**
 * Begins a new epoch after the database was restored with other tools, such as pg_restore: feed cursors from before are
 * no longer valid.
 */
async function beginEpochAfterRestore(flags: RestoreFlags): Promise<void> {
  if (flags.from !== undefined) throw new CliError(['--after-restore and --from cannot be combined.']);
  const now = systemClock.now();
  const epoch = await withExclusiveStore(flags, async (store) => {
    const connectedNodes = await store.clusterSession?.findConnectedNodes();
    if (connectedNodes !== undefined && connectedNodes.size > 0)
      throw new CliError(['Services are running on the database. Stop all of them first.']);
    return store.write((tx) => beginAuditedEpoch(tx, store.sequences, now, { from: 'by other means' }));
  });
  printRestoreResult(flags, {}, epoch);
}

type RestoreTransaction = Pick<Tx, 'queries' | 'sendWithCommit'>;

async function beginAuditedEpoch(
  tx: RestoreTransaction,
  sequences: Sequences,
  now: number,
  auditDetail: object,
): Promise<Epoch> {
  const epoch = await beginEpoch(tx.queries, sequences, now);
  await revokeAllSessionsAndInvitations(tx.queries);
  const auditEntry = {
    action: 'database.restored',
    subject: '',
    detail: { ...auditDetail, epoch: epoch.start },
  } as const;
  writeAuditEntriesAcrossAccounts(tx, [{ ...auditEntry, accountId: 0, actor: COMMAND_LINE_ACTOR }], now);
  return epoch;
}

function printRestoreResult(
  flags: RestoreFlags,
  filePaths: Readonly<Record<string, string | null>>,
  { start, accountCount }: Epoch,
): void {
  const lines = Object.entries(filePaths)
    .filter(([, filePath]) => filePath !== null)
    .map(([label, filePath]) => `${label}: ${filePath}`);
  printResult(flags, { ...filePaths, accounts: accountCount, epoch: start }, [
    ...lines,
    `accounts: ${accountCount}`,
    `epoch: ${start}`,
    'Start the service. Earlier cursors are invalid now. Deliveries that were pending at the time of the backup are sent again. Users must sign in again.',
  ]);
}
