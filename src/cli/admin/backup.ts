import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import { countMissing } from '../../delivery/maintenance/integrity-check.ts';
import { backUp } from '../../store/backup/backup.ts';
import { mebibytes, stampOf } from '../../store/backup/copy-database.ts';
import { type Queries, StoreError } from '../../store/store.ts';
import { CliError } from '../output/cli-error.ts';
import { addDatabaseOptions, type DatabaseFlags, faultsAsRefusals, print, readDatabase } from './open-database.ts';

type BackupFlags = DatabaseFlags & { readonly to?: string };

/** `carillon backup` */
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
      const to = nameFor(database.path, flags.to);
      const { bytes, version, found } = await faultsAsRefusals(() => backUp(database.path, to, inspectCopy));
      const seconds = Math.round(systemClock.monotonic() - begun) / 1_000;
      print(flags, { file: to, bytes, version, ...found, seconds }, [
        `file: ${to}`,
        `size: ${mebibytes(bytes)}`,
        `version: ${version}`,
        `accounts: ${found.accounts}`,
        `occurrences: ${found.occurrences}`,
        `position: ${found.position}`,
        'verified: sound, and every occurrence has its record',
        `seconds: ${seconds}`,
      ]);
    });
}

/** Path of the backup. In a folder, or by default next to the database, the file name contains the time. */
function nameFor(path: string, to: string | undefined): string {
  const name = `backup-${stampOf(systemClock.now())}`;
  if (to === undefined) return `${path}.${name}`;
  return existsSync(to) && statSync(to).isDirectory() ? join(to, `carillon-${name}.db`) : to;
}

/** Verifies the copy and counts its accounts and occurrences; `position` is the highest of all accounts. */
async function inspectCopy(queries: Queries): Promise<{ accounts: number; occurrences: number; position: number }> {
  const missing = await countMissing(queries);
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
