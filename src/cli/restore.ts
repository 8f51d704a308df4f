import type { Command } from 'commander';
import { COMMAND_LINE } from '../access.ts';
import { noteAcross } from '../audit/actions.ts';
import { systemClock } from '../clock.ts';
import { showMoment } from '../http/dates.ts';
import { stampOf } from '../store/copy.ts';
import { beginEpoch, type Epoch } from '../store/epoch.ts';
import { replaceDatabase } from '../store/restore.ts';
import type { Sequences } from '../store/sequences.ts';
import { dialect } from '../store/sqlite.ts';
import { sequences } from '../store/sqlite-sequences.ts';
import type { Tx } from '../store/store.ts';
import {
  addDatabaseOptions,
  type DatabaseFlags,
  faultsAsRefusals,
  print,
  readDatabase,
  withStoreAlone,
} from './database.ts';
import { Refusal } from './refusal.ts';

type Flags = DatabaseFlags & { readonly from?: string; readonly force?: true; readonly afterRestore?: true };

/** `carillon restore` */
export function addRestore(program: Command): void {
  addDatabaseOptions(program.command('restore'))
    .description('Go back to a backup. What was issued after it, ids and cursors, is never issued again.')
    .option('--from <file>', 'The backup of an SQLite database; it is only read.')
    .option('--force', 'Also where there is a database: it is kept beside, under another name.')
    .option('--after-restore', 'The backup is in place already, as after pg_restore: only begin a new epoch.')
    .action(async (flags: Flags) => {
      if (flags.afterRestore) return beginOnly(flags);
      const database = readDatabase(flags);
      if (database.scheme === 'postgres') {
        throw new Refusal([
          'A PostgreSQL is restored with its own tools; then say --after-restore. docs/operating.md has the whole way.',
        ]);
      }
      if (flags.from === undefined) throw new Refusal(['Say with --from which backup to go back to.']);
      return putBack(flags, database.path, flags.from);
    });
}

async function putBack(flags: Flags, path: string, from: string): Promise<void> {
  const now = systemClock.now();
  const prepare = (tx: Writing) => beginAndNote(tx, sequences, now, { from });
  const done = await faultsAsRefusals(() =>
    replaceDatabase({ path, from, stamp: stampOf(now), force: flags.force === true, dialect, prepare }),
  );
  report(flags, { database: path, from, kept: done.kept ?? null }, done.prepared);
}

/** What a restore that was made by other means still needs. */
async function beginOnly(flags: Flags): Promise<void> {
  if (flags.from !== undefined) throw new Refusal(['--after-restore and --from exclude each other.']);
  const now = systemClock.now();
  const epoch = await withStoreAlone(flags, (store) =>
    store.write((tx) => beginAndNote(tx, store.sequences, now, { from: 'by other means' })),
  );
  report(flags, {}, epoch);
}

type Writing = Pick<Tx, 'queries' | 'withCommit'>;

async function beginAndNote(tx: Writing, sequences: Sequences, now: number, detail: object): Promise<Epoch> {
  const epoch = await beginEpoch(tx.queries, sequences, now);
  const entry = { action: 'database.restored', subject: '', detail: { ...detail, jump: epoch.jump } } as const;
  noteAcross(tx, [{ ...entry, accountId: 0, by: COMMAND_LINE }], now);
  return epoch;
}

function report(flags: Flags, files: Readonly<Record<string, string | null>>, epoch: Epoch): void {
  const since = showMoment(epoch.since ?? null);
  const lines = Object.entries(files)
    .filter(([, file]) => file !== null)
    .map(([name, file]) => `${name}: ${file}`);
  print(flags, { ...files, accounts: epoch.accounts, since, jump: epoch.jump }, [
    ...lines,
    `accounts: ${epoch.accounts}`,
    `last alive: ${since}`,
    `jump: ${epoch.jump}`,
    'Start the service. Cursors from before lead nowhere now; what was owed at the backup is told again.',
  ]);
}
