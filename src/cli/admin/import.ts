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

type Flags = FromApiFlags & {
  readonly from?: string;
  readonly resume?: true;
  readonly undo?: true;
  readonly fromApi?: string;
};

/** `carillon import` */
export function addImport(program: Command): void {
  addBaseUrlOption(addProgressOption(addDatabaseOptions(program.command('import'))))
    .description(
      'Bring in what carillon export wrote, or what another service shows, while no service runs on the database. Exit status 2 says that records of the other service were left out; each is listed.',
    )
    .option('--from <file>', 'The file.')
    .option('--resume', 'Go on with an import of this file that was cut off.')
    .option('--undo', 'Take back an import that was not finished.')
    .option('--from-api <address>', 'Another service that speaks this interface: its base address, without /v2.')
    .option('--domain <host>', 'With --from-api: the account there.')
    .option('--key-file <file>', 'With --from-api: the file that has the key; - reads it from standard input.')
    .option('--key <key>', 'With --from-api: the key; whoever sees the processes of this machine sees it, too.')
    .option('--as-domain <host>', 'With --from-api: the domain of the account here (default: as there).')
    .option('--owner-email <address>', 'With --from-api: who owns it here (default: whose key it is).')
    .option('--hooks', 'With --from-api: make the hooks of the key there, too; both services tell from then on.')
    .option('--rate <number>', 'With --from-api: how many requests a second, at the most (default: 10).')
    .option('--readings <number>', 'With --from-api: how often it is read until it stands still (default: 3).')
    .option('--strict', 'With --from-api: refuse where a record cannot come as it is, instead of leaving it out.')
    .option('--work <file>', 'With --from-api: what was read so far (default: carillon-from-<domain>.part).')
    .option('--report <file>', 'With --from-api: what could not come (default: carillon-from-<domain>.report.jsonl).')
    .option('--id-map <file>', 'With --from-api: old and new ids (default: carillon-from-<domain>.ids.jsonl).')
    .action(async (flags: Flags) => {
      if (flags.undo) return undo(flags);
      const { from, fromApi, resume = false } = flags;
      if (from !== undefined && fromApi !== undefined)
        throw new CliError(['--from and --from-api exclude each other.']);
      if (fromApi !== undefined) return importFromApi(fromApi, flags);
      if (from === undefined)
        throw new CliError(['--from must name the file that carillon export wrote, or --from-api another service.']);
      const progress = progressOf(flags);
      const { end } = await withStoreAlone(flags, (store) =>
        importFrom({ store, path: from, clock: systemClock, progress, resume }),
      );
      report(stdout, flags, end);
    });
}

async function undo(flags: Flags): Promise<void> {
  const ports = { clock: systemClock, progress: progressOf(flags) };
  const rows = await withStoreAlone(flags, (store) => undoImport({ ...ports, store }));
  print(flags, { undone: true, rows }, [`taken back: ${rows} rows`]);
}
