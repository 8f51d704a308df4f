import { existsSync, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import { type ExportSink, exportTo } from '../../transfer/export.ts';
import type { ExportTotals } from '../../transfer/format.ts';
import { importExportFile } from '../../transfer/import.ts';
import { undoImport } from '../../transfer/remove.ts';
import { addBaseUrlOption } from '../client/connection-options.ts';
import { type FromApiFlags, importFromApi } from '../import-from-api/command.ts';
import { addProgressOption, createProgressFromFlags, formatCount, type ProgressFlags } from '../output/progress.ts';
import { CliError, type Output, onOutputError, stderr, stdout, writeUnescaped } from '../output/screen.ts';
import { addDatabaseOptions, printResult, withExclusiveStore, withStore } from './open-database.ts';

type ExportFlags = ProgressFlags & { readonly domain?: string; readonly to: string };

/** Registers the command `carillon export`. */
export function addExportCommand(program: Command): void {
  addProgressOption(addDatabaseOptions(program.command('export')))
    .description('Export an account, or the whole service, to a file. The service may run meanwhile.')
    .requiredOption('--to <file>', 'File to write, readable only by its owner; - for standard output.')
    .option('--domain <host>', 'Only this account. Default: all accounts.')
    .action(async (flags: ExportFlags) => {
      const domain = flags.domain ?? null;
      const progress = createProgressFromFlags(flags);
      const writeExport = (sink: ExportSink) =>
        withStore(flags, (store) => exportTo(sink, { store, domain, clock: systemClock, progress }));
      if (flags.to === '-') return printTotals(stderr, flags, await writeToStandardOutput(writeExport));
      printTotals(stdout, flags, await writeToFile(flags.to, writeExport));
    });
}

/** Prints the totals of an export or import: the number of rows, in total and per table, and the checksum. */
function printTotals(output: Output, flags: Pick<ProgressFlags, 'json'>, { rows, tables, sha256 }: ExportTotals): void {
  const rowCounts = Object.entries(tables).map(([table, tableTotals]) => [table, tableTotals.rows] as const);
  const nonEmptyCounts = rowCounts.filter(([, count]) => count > 0);
  const lines = [
    ...nonEmptyCounts.map(([table, count]) => `${table}: ${formatCount(count)}`),
    `rows: ${formatCount(rows)}`,
  ];
  const summary = { rows, tables: Object.fromEntries(rowCounts), sha256 };
  output.printResult(flags, summary, [...lines, `sha256: ${sha256}`]);
}

/** Writes to `<path>.part` and renames the file when it is complete. A file with the final name is never partial. */
async function writeToFile<T>(path: string, writeExport: (sink: ExportSink) => Promise<T>): Promise<T> {
  if (existsSync(path)) throw new CliError([`${path} already exists.`]);
  const partPath = `${path}.part`;
  try {
    rmSync(partPath, { force: true });
    const fileHandle = await open(partPath, 'wx', 0o600);
    try {
      const result = await writeExport({ write: (text) => fileHandle.writeFile(text) });
      await fileHandle.sync();
      await rename(partPath, path);
      return result;
    } finally {
      await fileHandle.close();
    }
  } catch (error) {
    rmSync(partPath, { force: true });
    throw toCliError(error, path);
  }
}

async function writeToStandardOutput<T>(writeExport: (sink: ExportSink) => Promise<T>): Promise<T> {
  if (stdout.isTTY) throw new CliError(['Standard output is a terminal. Write the export to a file or a pipe.']);
  // Ignore the error event of a broken pipe: the write that fails reports the same error.
  onOutputError(() => undefined);
  try {
    return await writeExport({ write: writeUnescaped });
  } catch (error) {
    throw toCliError(error, 'Standard output');
  }
}

function toCliError(error: unknown, destination: string): unknown {
  const isSystemError = error instanceof Error && 'syscall' in error;
  return isSystemError ? new CliError([`${destination} cannot be written: ${error.message}.`]) : error;
}

type ImportFlags = FromApiFlags & {
  readonly from?: string;
  readonly resume?: true;
  readonly undo?: true;
  readonly fromApi?: string;
};

/** Registers the command `carillon import`. */
export function addImportCommand(program: Command): void {
  addBaseUrlOption(addProgressOption(addDatabaseOptions(program.command('import'))))
    .description(
      'Import an export, or an account of another service. No service may run on the database. Exit status 2: records of the other service were left out; each is listed.',
    )
    .option('--from <file>', 'File that carillon export wrote.')
    .option('--resume', 'Resume an interrupted import of this file.')
    .option('--undo', 'Undo an unfinished import.')
    .option('--from-api <address>', 'Base URL, without /v2, of another service with this API.')
    .option('--domain <host>', 'With --from-api: domain of the account at the other service.')
    .option('--key-file <file>', 'With --from-api: file with the key; - for standard input.')
    .option('--key <key>', 'With --from-api: the key. Other users of this machine can see it in the process list.')
    .option('--as-domain <host>', 'With --from-api: domain of the new account (default: the same).')
    .option('--owner-email <address>', 'With --from-api: e-mail address of the owner (default: the user of the key).')
    .option('--hooks', 'With --from-api: also create the hooks of the key. From then on both services notify.')
    .option('--rate <number>', 'With --from-api: maximum number of requests per second (default: 10).')
    .option('--readings <number>', 'With --from-api: maximum number of passes until nothing changes (default: 3).')
    .option('--strict', 'With --from-api: fail if a record cannot be imported unchanged, instead of leaving it out.')
    .option('--work <file>', 'With --from-api: file for intermediate data (default: carillon-from-<domain>.part).')
    .option(
      '--report <file>',
      'With --from-api: report of records left out or changed (default: carillon-from-<domain>.report.jsonl).',
    )
    .option('--id-map <file>', 'With --from-api: map of old to new ids (default: carillon-from-<domain>.ids.jsonl).')
    .action(async (flags: ImportFlags) => {
      if (flags.undo) return undoUnfinishedImport(flags);
      const { from, fromApi, resume = false } = flags;
      if (from !== undefined && fromApi !== undefined)
        throw new CliError(['--from and --from-api cannot be combined.']);
      if (fromApi !== undefined) return importFromApi(fromApi, flags);
      if (from === undefined)
        throw new CliError(['Give --from with a file that carillon export wrote, or --from-api with another service.']);
      const progress = createProgressFromFlags(flags);
      const { totals } = await withExclusiveStore(flags, (store) =>
        importExportFile({ store, path: from, clock: systemClock, progress, mayResume: resume }),
      );
      printTotals(stdout, flags, totals);
    });
}

async function undoUnfinishedImport(flags: ImportFlags): Promise<void> {
  const transferDeps = { clock: systemClock, progress: createProgressFromFlags(flags) };
  const removedRowCount = await withExclusiveStore(flags, (store) => undoImport({ ...transferDeps, store }));
  printResult(flags, { undone: true, rows: removedRowCount }, [`undone: ${removedRowCount} rows`]);
}
