import { type Command, Option } from 'commander';
import { fieldOf, parseNextPageLink } from '../../../packages/sdk/src/response-body.ts';
import {
  type ApiCall,
  type ApiResponse,
  createUnexpectedResponseError,
  type Send,
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
export function printRecord(output: Output, flags: OutputFlags, responseData: unknown): void {
  const isRecord = typeof responseData === 'object' && responseData !== null && !Array.isArray(responseData);
  if (isRecord && !flags.json) output.print(...formatFields(responseData as ResponseRecord));
  else output.printJson(responseData);
}

/** Prints records page by page, so that a long list is not held in memory and output starts early. */
export async function printRecords(
  output: Output,
  flags: OutputFlags,
  pages: AsyncIterable<readonly ResponseRecord[]>,
): Promise<void> {
  if (flags.jsonl) {
    for await (const page of pages) for (const record of page) output.printJson(record);
  } else if (flags.json) {
    let separator: '[' | ',\n' = '[';
    for await (const page of pages) {
      for (const record of page) {
        output.printJson(record, { prefix: separator, suffix: '' });
        separator = ',\n';
      }
    }
    output.print(separator === '[' ? '[]' : ']');
  } else {
    await printTable(output, flags, pages);
  }
}

async function printTable(
  output: Output,
  flags: OutputFlags,
  pages: AsyncIterable<readonly ResponseRecord[]>,
): Promise<void> {
  let layout: TableLayout | undefined;
  for await (const page of pages) {
    if (layout === undefined) {
      layout = createLayout(page, { lineWidth: getMaxLineWidth(output), requestedFields: parseColumns(flags, page) });
      output.print(formatHeader(layout));
    }
    const fixedLayout = layout;
    output.print(...page.map((record) => formatRecordLine(fixedLayout, record)));
  }
  if (layout === undefined) output.print('none');
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
function getMaxLineWidth(output: Output): number | undefined {
  return output.isTTY ? output.columns || 80 : undefined;
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
  let pageStartQuery: Readonly<Record<string, string>> = {};
  while (remainingCount > 0) {
    const pageQuery = { ...query, ...pageStartQuery, limit: String(Math.min(remainingCount, MAX_PAGE_SIZE)) };
    const response = await send({ ...call, query: pageQuery, timeoutMs: computeRequestTimeoutMs(query.wait) });
    const { status, body } = response;
    const pageRecords = fieldOf(body, 'data');
    if (!Array.isArray(pageRecords))
      throw createUnexpectedResponseError(status, `The answer is ${status} and holds no list.`);
    if (pageRecords.length > 0) yield pageRecords;
    remainingCount -= pageRecords.length;
    const nextQuery = findNextPageQuery(response, pageQuery);
    if (nextQuery === undefined) return;
    pageStartQuery = nextQuery;
  }
}

function parseLimit(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (/^\d+$/.test(text) && Number(text) > 0) return Number(text);
  throw new CliError(['--limit must be a whole number of at least 1.']);
}

/** Returns the query parameters of the next page; undefined after the last page. */
function findNextPageQuery(
  response: ApiResponse,
  query: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> | undefined {
  const nextCursor = fieldOf(response.body, 'next');
  // Only the feed returns a cursor. With `wait`, only one page is read. Without `wait`, an unchanged cursor marks the
  // end of the feed.
  if (typeof nextCursor === 'string')
    return nextCursor === query.after || query.wait !== undefined ? undefined : { after: nextCursor };
  const nextPage = parseNextPageLink(response);
  return nextPage && { offset: String(nextPage.offset), after: nextPage.after };
}

/**
 * Returns the timeout of a request in milliseconds. The timeout includes the time for which the service may hold the
 * call open (`wait`).
 */
function computeRequestTimeoutMs(waitS: string | undefined): number {
  return 30_000 + 1_000 * Math.min(30, Number(waitS) || 0);
}
