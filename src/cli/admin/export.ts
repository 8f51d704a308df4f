import { existsSync, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import { exportTo, type Sink } from '../../transfer/export.ts';
import type { End } from '../../transfer/format.ts';
import { CliError } from '../output/cli-error.ts';
import { addProgressOption, grouped, type ProgressFlags, progressOf } from '../output/progress.ts';
import { onOutputBroken, type Screen, stderr, stdout, writeOut } from '../output/screen.ts';
import { addDatabaseOptions, withStore } from './open-database.ts';

type ExportFlags = ProgressFlags & { readonly domain?: string; readonly to: string };

/** `carillon export` */
export function addExport(program: Command): void {
  addProgressOption(addDatabaseOptions(program.command('export')))
    .description('Export an account, or the whole service, to a file. The service may run meanwhile.')
    .requiredOption('--to <file>', 'File to write, readable only by its owner; - for standard output.')
    .option('--domain <host>', 'Only this account. Default: all accounts.')
    .action(async (flags: ExportFlags) => {
      const domain = flags.domain ?? null;
      const progress = progressOf(flags);
      const work = (sink: Sink) =>
        withStore(flags, (store) => exportTo(sink, { store, domain, clock: systemClock, progress }));
      if (flags.to === '-') return report(stderr, flags, await toStandardOutput(work));
      report(stdout, flags, await toFile(flags.to, work));
    });
}

/** Prints the number of rows, in total and per table, and the checksum. */
export function report(screen: Screen, flags: Pick<ProgressFlags, 'json'>, { rows, tables, sha256 }: End): void {
  const counts = Object.entries(tables).map(([table, tally]) => [table, tally.rows] as const);
  const filled = counts.filter(([, count]) => count > 0);
  const lines = [...filled.map(([table, count]) => `${table}: ${grouped(count)}`), `rows: ${grouped(rows)}`];
  const summary = { rows, tables: Object.fromEntries(counts), sha256 };
  screen.answer(flags, summary, [...lines, `sha256: ${sha256}`]);
}

/** Writes to `<path>.part` and renames it when complete, so a file under its final name is never partial. */
async function toFile<T>(path: string, work: (sink: Sink) => Promise<T>): Promise<T> {
  if (existsSync(path)) throw new CliError([`${path} already exists.`]);
  const partPath = `${path}.part`;
  try {
    rmSync(partPath, { force: true });
    const file = await open(partPath, 'wx', 0o600);
    try {
      const done = await work({ write: (text) => file.writeFile(text) });
      await file.sync();
      await rename(partPath, path);
      return done;
    } finally {
      await file.close();
    }
  } catch (error) {
    rmSync(partPath, { force: true });
    throw asCliError(error, path);
  }
}

async function toStandardOutput<T>(work: (sink: Sink) => Promise<T>): Promise<T> {
  if (stdout.isTTY) throw new CliError(['Standard output is a terminal. Write the export to a file or a pipe.']);
  // A broken pipe is reported by the failing write as well.
  onOutputBroken(() => undefined);
  try {
    return await work({ write: writeOut });
  } catch (error) {
    throw asCliError(error, 'Standard output');
  }
}

function asCliError(error: unknown, where: string): unknown {
  const isSystemError = error instanceof Error && 'syscall' in error;
  return isSystemError ? new CliError([`${where} cannot be written: ${error.message}.`]) : error;
}
