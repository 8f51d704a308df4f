import { type Command, Option } from 'commander';
import { fieldOf, parseNextPageLink } from '../../../packages/sdk/src/response-body.ts';
import {
  type ApiCall,
  type ApiResponse,
  type Send,
  unexpectedResponseError,
} from '../../../packages/sdk/src/transport.ts';
import { CliError, type Output } from '../output/screen.ts';
import {
  createLayout,
  formatFields,
  formatHeader,
  formatRecordLine,
  type ResponseRecord,
  type TableLayout,
} from '../output/table.ts';

/** Flags that select the output format. */
export type OutputFlags = { readonly json?: true; readonly jsonl?: true; readonly columns?: string };

export function addOutputOptions(command: Command): Command {
  return command.addOption(new Option('--json', 'Print JSON, for programs.').helpGroup('Output:'));
}

/** Adds the output options of a list to a command. */
export function addListOptions(command: Command): Command {
  return addOutputOptions(command)
    .addOption(new Option('--jsonl', 'Print JSON, one record per line.').helpGroup('Output:'))
    .addOption(new Option('--columns <list>', 'Only these columns, separated by commas.').helpGroup('Output:'));
}

/** Prints a record as lines. Prints JSON with `--json`, or if the data is not a record. */
export function printRecord(screen: Output, flags: OutputFlags, data: unknown): void {
  const isRecord = typeof data === 'object' && data !== null && !Array.isArray(data);
  if (isRecord && !flags.json) screen.print(...formatFields(data as ResponseRecord));
  else screen.printJson(data);
}

/** Prints records page by page, so that a long list is not held in memory and output starts early. */
export async function printRecords(
  screen: Output,
  flags: OutputFlags,
  pages: AsyncIterable<readonly ResponseRecord[]>,
): Promise<void> {
  if (flags.jsonl) {
    for await (const page of pages) for (const record of page) screen.printJson(record);
  } else if (flags.json) {
    let separator: '[' | ',\n' = '[';
    for await (const page of pages) {
      for (const record of page) {
        screen.printJson(record, { before: separator, after: '' });
        separator = ',\n';
      }
    }
    screen.print(separator === '[' ? '[]' : ']');
  } else {
    await printTable(screen, flags, pages);
  }
}

async function printTable(
  screen: Output,
  flags: OutputFlags,
  pages: AsyncIterable<readonly ResponseRecord[]>,
): Promise<void> {
  let layout: TableLayout | undefined;
  for await (const page of pages) {
    if (layout === undefined) {
      layout = createLayout(page, { width: maxLineWidth(screen), wanted: parseColumns(flags, page) });
      screen.print(formatHeader(layout));
    }
    const fixedLayout = layout;
    screen.print(...page.map((record) => formatRecordLine(fixedLayout, record)));
  }
  if (layout === undefined) screen.print('none');
}

function parseColumns({ columns }: OutputFlags, page: readonly ResponseRecord[]): string[] | undefined {
  if (columns === undefined) return undefined;
  const requestedColumns = columns.split(',').map((name) => name.trim().toLowerCase());
  const validColumns = Object.keys(page[0] ?? {});
  const invalidColumns = requestedColumns.filter((name) => !validColumns.includes(name));
  if (invalidColumns.length === 0) return requestedColumns;
  throw new CliError([`--columns: ${invalidColumns.join(', ')} is not one of ${validColumns.join(', ')}.`]);
}

/**
 * Returns the maximum width of a line: the width of the terminal, or 80 if the terminal reports 0. Returns undefined,
 * for no limit, if the output is not a terminal.
 */
function maxLineWidth(screen: Output): number | undefined {
  return screen.isTTY ? screen.columns || 80 : undefined;
}

type ListCall = Omit<ApiCall, 'query'> & { readonly query: Readonly<Record<string, string>> };

/** Maximum number of records per response (C7). */
const MAX_PAGE_SIZE = 1_000;

/** Yields the pages of a list, by offset or cursor, up to `limit` records in all. */
export async function* fetchPages(
  send: Send,
  call: ListCall,
): AsyncGenerator<readonly ResponseRecord[], void, undefined> {
  const { limit, ...query } = call.query;
  let remainingCount = parseLimit(limit);
  let pageStart: Readonly<Record<string, string>> = {};
  while (remainingCount > 0) {
    const pageQuery = { ...query, ...pageStart, limit: String(Math.min(remainingCount, MAX_PAGE_SIZE)) };
    const response = await send({ ...call, query: pageQuery, timeoutMs: requestTimeoutMs(query.wait) });
    const { status, body } = response;
    const data = fieldOf(body, 'data');
    if (!Array.isArray(data)) throw unexpectedResponseError(status, `The answer is ${status} and holds no list.`);
    if (data.length > 0) yield data;
    remainingCount -= data.length;
    const nextQuery = nextPageQuery(response, pageQuery);
    if (nextQuery === undefined) return;
    pageStart = nextQuery;
  }
}

function parseLimit(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (/^\d+$/.test(text) && Number(text) > 0) return Number(text);
  throw new CliError(['--limit must be a whole number of at least 1.']);
}

/** Returns the query parameters of the next page; undefined after the last page. */
function nextPageQuery(
  response: ApiResponse,
  query: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> | undefined {
  const cursor = fieldOf(response.body, 'next');
  // A cursor means that this is the feed. A request with `wait` reads one page only. Without `wait`, an unchanged
  // cursor marks the end.
  if (typeof cursor === 'string')
    return cursor === query.after || query.wait !== undefined ? undefined : { after: cursor };
  const nextPage = parseNextPageLink(response);
  return nextPage && { offset: String(nextPage.offset), after: nextPage.after };
}

/**
 * Returns the timeout of a request in milliseconds. It includes the time for which the service may hold the call open.
 */
function requestTimeoutMs(waitS: string | undefined): number {
  return 30_000 + 1_000 * Math.min(30, Number(waitS) || 0);
}
