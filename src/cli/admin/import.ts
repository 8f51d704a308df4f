import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import { importFrom } from '../../transfer/import.ts';
import { undoImport } from '../../transfer/remove.ts';
import { addBaseUrlOption } from '../client/base-url.ts';
import { importFromApi } from '../import-from-api/command.ts';
import type { FromApiFlags } from '../import-from-api/settings.ts';
import { CliError } from '../output/cli-error.ts';
import { addProgressOption, progressOf } from '../output/progress.ts';
import { stdout } from '../output/screen.ts';
import { report } from './export.ts';
import { addDatabaseOptions, print, withStoreAlone } from './open-database.ts';

type ImportFlags = FromApiFlags & {
  readonly from?: string;
  readonly resume?: true;
  readonly undo?: true;
  readonly fromApi?: string;
};

/** `carillon import` */
export function addImport(program: Command): void {
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
      if (flags.undo) return undo(flags);
      const { from, fromApi, resume = false } = flags;
      if (from !== undefined && fromApi !== undefined)
        throw new CliError(['--from and --from-api cannot be combined.']);
      if (fromApi !== undefined) return importFromApi(fromApi, flags);
      if (from === undefined)
        throw new CliError(['Give --from with a file that carillon export wrote, or --from-api with another service.']);
      const progress = progressOf(flags);
      const { end } = await withStoreAlone(flags, (store) =>
        importFrom({ store, path: from, clock: systemClock, progress, resume }),
      );
      report(stdout, flags, end);
    });
}

async function undo(flags: ImportFlags): Promise<void> {
  const ports = { clock: systemClock, progress: progressOf(flags) };
  const rows = await withStoreAlone(flags, (store) => undoImport({ ...ports, store }));
  print(flags, { undone: true, rows }, [`undone: ${rows} rows`]);
}
