import type { Command } from 'commander';
import { systemClock } from '../clock.ts';
import { importFrom } from '../transfer/import.ts';
import { undoImport } from '../transfer/remove.ts';
import { addDatabaseOptions, print, withStoreAlone } from './database.ts';
import { report } from './export.ts';
import { addProgressOption, type ProgressFlags, progressOf } from './progress.ts';
import { Refusal } from './refusal.ts';

type Flags = ProgressFlags & { readonly from?: string; readonly resume?: true; readonly undo?: true };

/** `carillon import` */
export function addImport(program: Command): void {
  addProgressOption(addDatabaseOptions(program.command('import')))
    .description('Bring in what carillon export wrote, ids kept, while no service runs on the database.')
    .option('--from <file>', 'The file.')
    .option('--resume', 'Go on with an import of this file that was cut off.')
    .option('--undo', 'Take back an import that was not finished.')
    .action(async (flags: Flags) => {
      if (flags.undo) return undo(flags);
      const { from, resume = false } = flags;
      if (from === undefined) throw new Refusal(['--from must name the file that carillon export wrote.']);
      const progress = progressOf(flags);
      const { end } = await withStoreAlone(flags, (store) =>
        importFrom({ store, path: from, clock: systemClock, progress, resume }),
      );
      report(process.stdout, flags, end);
    });
}

async function undo(flags: Flags): Promise<void> {
  const ports = { clock: systemClock, progress: progressOf(flags) };
  const rows = await withStoreAlone(flags, (store) => undoImport({ ...ports, store }));
  print(flags, { undone: true, rows }, [`taken back: ${rows} rows`]);
}
