import { behindPage, fieldOf } from '../../../packages/sdk/src/response-body.ts';
import { type Answer, type Call, type Send, unexpected } from '../../../packages/sdk/src/transport.ts';
import { CliError } from '../output/cli-error.ts';
import type { Answered } from '../output/table.ts';

type Listing = Omit<Call, 'query'> & { readonly query: Readonly<Record<string, string>> };

/** Maximum number of records per response (C7). */
const MAX_PAGE_SIZE = 1_000;

/** Yields the pages of a list, by offset or cursor, up to `limit` records in all. */
export async function* pagesOf(send: Send, call: Listing): AsyncGenerator<readonly Answered[], void, undefined> {
  const { limit, ...query } = call.query;
  let left = limitOf(limit);
  let start: Readonly<Record<string, string>> = {};
  while (left > 0) {
    const pageQuery = { ...query, ...start, limit: String(Math.min(left, MAX_PAGE_SIZE)) };
    const response = await send({ ...call, query: pageQuery, timeoutMs: timeoutFor(query.wait) });
    const { status, body } = response;
    const data = fieldOf(body, 'data');
    if (!Array.isArray(data)) throw unexpected(status, `The answer is ${status} and holds no list.`);
    if (data.length > 0) yield data;
    left -= data.length;
    const next = nextOf(response, pageQuery);
    if (next === undefined) return;
    start = next;
  }
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (/^\d+$/.test(text) && Number(text) > 0) return Number(text);
  throw new CliError(['--limit must be a whole number of at least 1.']);
}

/** Query parameters of the next page; undefined after the last one. */
function nextOf(
  response: Answer,
  query: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> | undefined {
  const cursor = fieldOf(response.body, 'next');
  // Feed: with `wait` one response is the whole result; otherwise an unchanged cursor marks the end.
  if (typeof cursor === 'string')
    return cursor === query.after || query.wait !== undefined ? undefined : { after: cursor };
  const nextPage = behindPage(response);
  return nextPage && { offset: String(nextPage.offset), after: nextPage.after };
}

/** Request timeout, extended by the time for which the service may hold the call open. */
function timeoutFor(wait: string | undefined): number {
  return 30_000 + 1_000 * Math.min(30, Number(wait) || 0);
}
