import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { CalendarImportReport } from '../../../packages/sdk/src/calendars.ts';
import { CliError, stdout } from '../output/screen.ts';
import { withService } from './connect.ts';
import { addConnectionOptions, type ConnectionFlags } from './connection-options.ts';

type ImportCalendarFlags = ConnectionFlags & {
  readonly json?: true;
  readonly projectId?: string;
  readonly timeZone?: string;
  readonly silent?: true;
  readonly again?: true;
};

/** Registers the command `carillon import-calendar`. */
export function addImportCalendarCommand(program: Command): void {
  addConnectionOptions(program.command('import-calendar <file>'))
    .description('Import the events of an .ics file. Importing it again creates no duplicates.')
    .option('--project-id <id>', 'Project of the created events.')
    .option(
      '--time-zone <name>',
      "Zone to which times with a zone are converted. Default: the account's, or else the file's.",
    )
    .option('--silent', 'Notify no hooks.')
    .option('--again', 'Create imported events again that were deleted here since.')
    .option('--json', 'Print JSON, for programs.')
    .action(importCalendar);
}

async function importCalendar(filePath: string, flags: ImportCalendarFlags): Promise<void> {
  const importInput = {
    ics: readUtf8File(filePath),
    project_id: flags.projectId,
    time_zone: flags.timeZone,
    silent: flags.silent,
    again: flags.again,
  };
  const report = await withService(flags, ({ carillon }) => carillon.events.import(importInput));
  stdout.printResult(flags, report, formatReport(report));
}

function readUtf8File(filePath: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(filePath));
  } catch (error) {
    if (error instanceof TypeError) throw new CliError([`${filePath} is not in UTF-8.`]);
    throw new CliError([`${filePath} cannot be read: ${error instanceof Error ? error.message : error}.`]);
  }
}

/** Formats the report as lines: the counts, and every part of the file that was not imported. */
function formatReport(report: CalendarImportReport): string[] {
  const { created, changed, unchanged, deleted, time_zone, repeated_from, repeated_to, dropped } = report;
  return [
    `created: ${created}, changed: ${changed}, unchanged: ${unchanged}, deleted here since: ${deleted}`,
    `times with a zone are in ${time_zone}; recurring events are imported from ${repeated_from} to ${repeated_to}`,
    ...dropped.flatMap(({ count, what, message, examples }) => [
      `${count} ${what}: ${message}`,
      ...examples.map((example) => `  ${example}`),
    ]),
  ];
}
