import { type Command, Option } from 'commander';
import { CliError } from '../output/cli-error.ts';
import type { Screen } from '../output/screen.ts';
import { type Answered, fieldLines, headOf, type Layout, layoutOf, rowOf } from '../output/table.ts';

/** How an answer is printed: for people, or as JSON for programs. */
export type OutputFlags = { readonly json?: true; readonly jsonl?: true; readonly columns?: string };

export function addOutputOptions(command: Command): Command {
  return command.addOption(new Option('--json', 'Answer in JSON, for programs.').helpGroup('Output:'));
}

/** What lists have beside that. */
export function addListOptions(command: Command): Command {
  return addOutputOptions(command)
    .addOption(new Option('--jsonl', 'Answer in JSON, one record a line, as they come.').helpGroup('Output:'))
    .addOption(new Option('--columns <list>', 'These fields as columns, separated by commas.').helpGroup('Output:'));
}

/** Prints one record, or whatever else was answered. */
export function printOne(screen: Screen, flags: OutputFlags, answered: unknown): void {
  const isRecord = typeof answered === 'object' && answered !== null && !Array.isArray(answered);
  if (isRecord && !flags.json) screen.print(...fieldLines(answered as Answered));
  else screen.printJson(answered);
}

/** Prints records page by page, so that a long list is neither held in memory nor waited for. */
export async function printMany(
  screen: Screen,
  flags: OutputFlags,
  pages: AsyncIterable<readonly Answered[]>,
): Promise<void> {
  if (flags.jsonl) {
    for await (const page of pages) for (const record of page) screen.printJson(record);
  } else if (flags.json) {
    let before: '[' | ',\n' = '[';
    for await (const page of pages) {
      for (const record of page) {
        screen.printJson(record, { before, after: '' });
        before = ',\n';
      }
    }
    screen.print(before === '[' ? '[]' : ']');
  } else {
    await printTable(screen, flags, pages);
  }
}

async function printTable(
  screen: Screen,
  flags: OutputFlags,
  pages: AsyncIterable<readonly Answered[]>,
): Promise<void> {
  let layout: Layout | undefined;
  for await (const page of pages) {
    if (layout === undefined) {
      layout = layoutOf(page, { width: widthOf(screen), wanted: columnsIn(flags, page) });
      screen.print(headOf(layout));
    }
    const known = layout;
    screen.print(...page.map((record) => rowOf(known, record)));
  }
  if (layout === undefined) screen.print('none');
}

function columnsIn({ columns }: OutputFlags, page: readonly Answered[]): string[] | undefined {
  if (columns === undefined) return undefined;
  const wanted = columns.split(',').map((one) => one.trim().toLowerCase());
  const known = Object.keys(page[0] ?? {});
  const wrong = wanted.filter((one) => !known.includes(one));
  if (wrong.length === 0) return wanted;
  throw new CliError([`--columns: ${wrong.join(', ')} is none of ${known.join(', ')}.`]);
}

/** A pipe takes lines of any length; a terminal that was never told its size says 0. */
function widthOf(screen: Screen): number | undefined {
  return screen.isTTY ? screen.columns || 80 : undefined;
}
