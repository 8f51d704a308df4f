import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import { environmentName, options } from '../../config/options.ts';
import { createLog } from '../../log.ts';
import { Problem } from '../../problems.ts';
import { findAccount } from '../../resources/accounts/actions.ts';
import { AccountWrite } from '../../store/account-scope.ts';
import type { Location, OpenOptions } from '../../store/database-url.ts';
import { openStore } from '../../store/open.ts';
import { DatabaseLost, type Store, StoreError } from '../../store/store.ts';
import { explain, findUnfinished } from '../../transfer/incomplete-transfers.ts';
import { TransferError } from '../../transfer/transfer-error.ts';
import { CliError } from '../output/cli-error.ts';
import { type Line, stdout } from '../output/screen.ts';

/** The options of every command that works on the database itself, also while a service runs on it. */
export type DatabaseFlags = { readonly database?: string; readonly json?: true };

/** Gives a command `--database` and `--json`. */
export function addDatabaseOptions(command: Command): Command {
  const { flag, shape, says, initial } = options.database;
  return command
    .option(`--${flag} <${shape}>`, `${says} (default ${initial}) Also ${environmentName(flag)}.`)
    .option('--json', 'Answer in JSON, for programs.');
}

/**
 * Opens the database for one piece of work, beside whatever runs on it, and closes it again. Problems are said in one
 * line, and so is it that something stands half in the database.
 */
export async function withStore<T>(flags: DatabaseFlags, work: (store: Store) => Promise<T>): Promise<T> {
  return opened(flags, 'command', async (store) => {
    const unfinished = await findUnfinished(store.read);
    if (unfinished !== undefined) throw new TransferError(explain(unfinished));
    return work(store);
  });
}

/** The same in place of a service: while it works, none starts on the database, and with one running it refuses. */
export async function withStoreAlone<T>(flags: DatabaseFlags, work: (store: Store) => Promise<T>): Promise<T> {
  return opened(flags, 'service', work);
}

/** Where a command works: what `--database` says, the environment, or the default. */
export function readDatabase(flags: DatabaseFlags): Location {
  const { flag, parse, initial } = options.database;
  const text = flags.database ?? (process.env[environmentName(flag)] || initial || '');
  const parsed = parse(text);
  if ('fault' in parsed) throw new CliError([`--${flag} ${parsed.fault}.`]);
  return parsed.value;
}

async function opened<T>(flags: DatabaseFlags, as: OpenOptions['as'], work: (store: Store) => Promise<T>): Promise<T> {
  const database = readDatabase(flags);
  return faultsAsRefusals(async () => {
    const store = await openStore({
      database,
      clock: systemClock,
      log: createLog('silent'),
      as,
      onFatal: (error) => {
        // The store refuses every write from then on, and the command says why.
        if (!(error instanceof DatabaseLost)) throw error;
      },
    });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  });
}

/** What the database, or a problem, has to say is said in its lines, and nothing more. */
export async function faultsAsRefusals<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TransferError) throw new CliError(error.lines);
    if (error instanceof Problem && error.cause instanceof DatabaseLost) throw new CliError([error.cause.message]);
    if (error instanceof StoreError || error instanceof Problem) throw new CliError([error.message]);
    throw error;
  }
}

/** Works on the account with a domain, in one transaction. */
export async function withAccount<T>(
  flags: DatabaseFlags & { readonly domain: string },
  work: (write: AccountWrite) => Promise<T>,
): Promise<T> {
  return withStore(flags, (store) =>
    store.write(async (tx) => {
      const accountId = await findAccount(tx.queries, flags.domain);
      if (accountId === undefined) throw new CliError([`There is no account with the domain ${flags.domain}.`]);
      return work(new AccountWrite(tx, accountId, systemClock.now()));
    }),
  );
}

/** Prints an answer: JSON for programs, else the lines for people. */
export function print(flags: DatabaseFlags, answer: unknown, lines: readonly Line[]): void {
  stdout.answer(flags, answer, lines);
}
