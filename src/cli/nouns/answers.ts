import { type Command, Option } from 'commander';
import { Refusal } from '../refusal.ts';
import { type Answered, fieldLines, headOf, type Layout, layoutOf, rowOf } from './table.ts';

/** How an answer is printed: for people, or as JSON for programs. */
export type OutputFlags = { readonly json?: true; readonly jsonl?: true; readonly columns?: string };

/** Where answers go: the terminal, a pipe, a file. */
export type Screen = { readonly isTTY?: boolean; readonly columns?: number; write(text: string): unknown };

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
  const lines = isRecord && !flags.json ? fieldLines(answered as Answered) : [JSON.stringify(answered)];
  for (const line of lines) screen.write(`${line}\n`);
}

/** Prints records page by page, so that a long list is neither held in memory nor waited for. */
export async function printMany(
  screen: Screen,
  flags: OutputFlags,
  pages: AsyncIterable<readonly Answered[]>,
): Promise<void> {
  if (flags.jsonl) {
    for await (const page of pages) for (const record of page) screen.write(`${JSON.stringify(record)}\n`);
  } else if (flags.json) {
    let before = '[';
    for await (const page of pages) {
      for (const record of page) {
        screen.write(before + JSON.stringify(record));
        before = ',\n';
      }
    }
    screen.write(before === '[' ? '[]\n' : ']\n');
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
      screen.write(`${headOf(layout)}\n`);
    }
    const known = layout;
    screen.write(page.map((record) => `${rowOf(known, record)}\n`).join(''));
  }
  if (layout === undefined) screen.write('none\n');
}

function columnsIn({ columns }: OutputFlags, page: readonly Answered[]): string[] | undefined {
  if (columns === undefined) return undefined;
  const wanted = columns.split(',').map((one) => one.trim().toLowerCase());
  const known = Object.keys(page[0] ?? {});
  const wrong = wanted.filter((one) => !known.includes(one));
  if (wrong.length === 0) return wanted;
  throw new Refusal([`--columns: ${wrong.join(', ')} is none of ${known.join(', ')}.`]);
}

/** A pipe takes lines of any length; a terminal that was never told its size says 0. */
function widthOf(screen: Screen): number | undefined {
  return screen.isTTY ? screen.columns || 80 : undefined;
}
