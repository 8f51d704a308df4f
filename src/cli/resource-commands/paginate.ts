import { behindPage, fieldOf } from '../../../packages/sdk/src/response-body.ts';
import { type Answer, type Call, type Send, unexpected } from '../../../packages/sdk/src/transport.ts';
import { CliError } from '../output/cli-error.ts';
import type { Answered } from '../output/table.ts';

type Listing = Omit<Call, 'query'> & { readonly query: Readonly<Record<string, string>> };

/** The most records that the service answers at once (C7). */
const MAX_PAGE_SIZE = 1_000;

/** Every page of a list, by offset or by cursor: all of it, or as many records as `limit` says. */
export async function* pagesOf(send: Send, call: Listing): AsyncGenerator<readonly Answered[], void, undefined> {
  const { limit, ...query } = call.query;
  let left = limitOf(limit);
  let from: Readonly<Record<string, string>> = {};
  while (left > 0) {
    const asked = { ...query, ...from, limit: String(Math.min(left, MAX_PAGE_SIZE)) };
    const answer = await send({ ...call, query: asked, timeoutMs: timeoutFor(query.wait) });
    const { status, body } = answer;
    const data = fieldOf(body, 'data');
    if (!Array.isArray(data)) throw unexpected(status, `The answer is ${status} and holds no list.`);
    if (data.length > 0) yield data;
    left -= data.length;
    const next = nextOf(answer, asked);
    if (next === undefined) return;
    from = next;
  }
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (/^\d+$/.test(text) && Number(text) > 0) return Number(text);
  throw new CliError(['--limit must be a whole number of at least 1.']);
}

/** Where the next page begins; undefined behind the last one. */
function nextOf(answer: Answer, asked: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined {
  const cursor = fieldOf(answer.body, 'next');
  // The feed: an answer that was waited for is the whole answer, and a cursor that stands still is its end.
  if (typeof cursor === 'string')
    return cursor === asked.after || asked.wait !== undefined ? undefined : { after: cursor };
  const behind = behindPage(answer);
  return behind && { offset: String(behind.offset), after: behind.after };
}

/** What waits on the service's side is waited for. */
function timeoutFor(wait: string | undefined): number {
  return 30_000 + 1_000 * Math.min(30, Number(wait) || 0);
}
