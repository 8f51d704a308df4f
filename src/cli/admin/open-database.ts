import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import { environmentVariableOf, options } from '../../config/options.ts';
import { createLog } from '../../log.ts';
import { Problem } from '../../problems.ts';
import { findAccountId } from '../../resources/accounts/actions.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { DatabaseLocation, StoreOptions } from '../../store/database-url.ts';
import { openStore } from '../../store/open.ts';
import { DatabaseLostError, type Store, StoreError } from '../../store/store.ts';
import { explainIncompleteTransfer, findIncompleteTransfer } from '../../transfer/incomplete-transfers.ts';
import { TransferError } from '../../transfer/operator-report.ts';
import { CliError, type OutputLine, stdout } from '../output/screen.ts';

/** Flags of commands that open the database directly. */
export type DatabaseFlags = { readonly database?: string; readonly json?: true };

/** Adds the options `--database` and `--json` to a command. */
export function addDatabaseOptions(command: Command): Command {
  const { flag, placeholder, description, defaultText } = options.database;
  return command
    .option(
      `--${flag} <${placeholder}>`,
      `${description} (default ${defaultText}) Also ${environmentVariableOf(flag)}.`,
    )
    .option('--json', 'Print JSON, for programs.');
}

/**
 * Opens the database, runs the operation and closes the database. A service may run on the database at the same time.
 * Known errors, such as an unfinished import, become a `CliError`.
 */
export async function withStore<T>(flags: DatabaseFlags, operation: (store: Store) => Promise<T>): Promise<T> {
  return openStoreAndRun(flags, 'command', async (store) => {
    const incompleteTransfer = await findIncompleteTransfer(store.read);
    if (incompleteTransfer !== undefined) throw new TransferError(explainIncompleteTransfer(incompleteTransfer));
    return operation(store);
  });
}

/**
 * Like `withStore`, but with exclusive access: fails if a service runs on the database, and prevents services from
 * starting during the operation. The database may contain an unfinished import, so that it can be resumed or undone.
 */
export async function withExclusiveStore<T>(flags: DatabaseFlags, operation: (store: Store) => Promise<T>): Promise<T> {
  return openStoreAndRun(flags, 'service', operation);
}

/** Reads the location of the database from `--database`, the environment or the default. */
export function readDatabaseLocation(flags: DatabaseFlags): DatabaseLocation {
  const { flag, parse, defaultText } = options.database;
  const locationText = flags.database ?? (process.env[environmentVariableOf(flag)] || defaultText || '');
  const parsedLocation = parse(locationText);
  if ('fault' in parsedLocation) throw new CliError([`--${flag} ${parsedLocation.fault}.`]);
  return parsedLocation.value;
}

async function openStoreAndRun<T>(
  flags: DatabaseFlags,
  openAs: StoreOptions['openAs'],
  operation: (store: Store) => Promise<T>,
): Promise<T> {
  const databaseLocation = readDatabaseLocation(flags);
  return withCliErrors(async () => {
    const store = await openStore({
      database: databaseLocation,
      clock: systemClock,
      log: createLog('silent'),
      openAs,
      onFatal: (error) => {
        // Do not throw if the database is lost: every later write fails with this error, and the command reports it.
        if (!(error instanceof DatabaseLostError)) throw error;
      },
    });
    try {
      return await operation(store);
    } finally {
      await store.close();
    }
  });
}

/** Runs the operation and turns known errors (store, transfer, problem) into a `CliError` without a stack trace. */
export async function withCliErrors<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    if (error instanceof TransferError) throw new CliError(error.lines);
    if (error instanceof Problem && error.cause instanceof DatabaseLostError) throw new CliError([error.cause.message]);
    if (error instanceof StoreError || error instanceof Problem) throw new CliError([error.message]);
    throw error;
  }
}

/** Runs the operation in one transaction on the account of `--domain`. */
export async function withAccount<T>(
  flags: DatabaseFlags & { readonly domain: string },
  operation: (write: AccountWrite) => Promise<T>,
): Promise<T> {
  return withStore(flags, (store) =>
    store.write(async (tx) => {
      const accountId = await findAccountId(tx.queries, flags.domain);
      if (accountId === undefined) throw new CliError([`There is no account with the domain ${flags.domain}.`]);
      return operation(new AccountWrite(tx, accountId, systemClock.now()));
    }),
  );
}

/** Prints a result: as JSON with `--json`, otherwise as lines. */
export function printResult(flags: DatabaseFlags, result: unknown, lines: readonly OutputLine[]): void {
  stdout.printResult(flags, result, lines);
}
