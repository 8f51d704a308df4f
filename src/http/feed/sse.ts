import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';
import type { SerializedFeedPage } from '../routes/route.ts';
import type { FeedWaiter } from './waiters.ts';

/** Interval of the SSE comments that make clients and proxies keep the connection open. */
const KEEP_ALIVE_INTERVAL_MS = 15_000;

/** Interval at which a stream checks its caller again, in case the commit event of a revoked key was lost. */
const ACCESS_CHECK_INTERVAL_MS = 1_000;

/** Delay before a client reconnects, sent to clients as `retry`. */
const CLIENT_RECONNECT_DELAY_MS = 2_000;

export const EVENT_STREAM_TYPE = 'text/event-stream';

/** Maximum number of feed entries per read, and per chunk of a stream. */
export const STREAM_BATCH_SIZE = 100;

type StreamDeps = {
  readonly clock: Clock;
  /** Reads the entries after a cursor; rejects if the caller may no longer read them. */
  readEntriesAfter(after: number): Promise<SerializedFeedPage>;
  /** Rejects if the caller may no longer read the feed. */
  requireAccess(): Promise<unknown>;
};

/**
 * Streams the feed as server-sent events, starting with a first page: `id` is the cursor, `event` the event kind,
 * `data` the entry. A message with only an `id` dispatches no event, but the client stores the cursor and sends it as
 * Last-Event-ID when it reconnects. The stream ends when the waiter is ended or the caller may no longer read.
 */
export async function* streamFeedEntries(
  waiter: FeedWaiter,
  firstPage: SerializedFeedPage,
  deps: StreamDeps,
): AsyncGenerator<string, void, undefined> {
  const { clock } = deps;
  let page = firstPage;
  let lastSentCursor = 0;
  let nextKeepAliveAt = clock.monotonic() + KEEP_ALIVE_INTERVAL_MS;
  yield `retry: ${CLIENT_RECONNECT_DELAY_MS}\n\n`;
  // Send the cursor first, so that a client that disconnects before the first entry resumes from here.
  if (page.entries.length === 0) {
    yield formatCursorEvent(page);
    lastSentCursor = page.nextCursor;
  }
  while (!waiter.isEnded) {
    if (page.entries.length > 0) {
      yield page.entries.map(formatServerSentEvent).join('');
      lastSentCursor = page.entries.at(-1)?.cursor ?? lastSentCursor;
      nextKeepAliveAt = clock.monotonic() + KEEP_ALIVE_INTERVAL_MS;
    }
    waiter.lastReadPosition = page.nextCursor;
    const isWoken = !page.isEnd || (await waiter.sleep(clock, computeSleepMs(nextKeepAliveAt - clock.monotonic())));
    if (waiter.isEnded) return;
    if (clock.monotonic() >= nextKeepAliveAt) {
      // Advance the client's cursor past entries that the client may not see, so that they are not read again.
      yield page.nextCursor > lastSentCursor ? `:\n${formatCursorEvent(page)}` : ':\n\n';
      lastSentCursor = page.nextCursor;
      nextKeepAliveAt = clock.monotonic() + KEEP_ALIVE_INTERVAL_MS;
    }
    const nextPage = await suppressProblem(() =>
      isWoken ? deps.readEntriesAfter(page.nextCursor) : recheckAccess(page, deps),
    );
    if (nextPage === undefined) return;
    page = nextPage;
  }
}

/**
 * Rejects if the caller may no longer read the feed. Otherwise returns the page without its entries, because they were
 * sent already.
 */
async function recheckAccess(page: SerializedFeedPage, { requireAccess }: StreamDeps): Promise<SerializedFeedPage> {
  await requireAccess();
  return { ...page, entries: [] };
}

function computeSleepMs(keepAliveInMs: number): number {
  return Math.min(ACCESS_CHECK_INTERVAL_MS, Math.max(keepAliveInMs, 0));
}

const formatCursorEvent = ({ nextCursor }: SerializedFeedPage) => `id: ${nextCursor}\n\n`;

function formatServerSentEvent({ cursor, kind, serializedEntry }: SerializedFeedPage['entries'][number]): string {
  return `id: ${cursor}\nevent: ${kind}\ndata: ${JSON.stringify(serializedEntry)}\n\n`;
}

/**
 * Reads a page; returns undefined if the read throws a problem. A stream cannot send a problem, so the stream ends, and
 * the client gets the problem when it reconnects.
 */
async function suppressProblem<T>(readPage: () => Promise<T>): Promise<T | undefined> {
  try {
    return await readPage();
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** Whether an Accept header prefers an event stream to JSON. */
export function prefersEventStream(accept: string | undefined): boolean {
  const mediaRanges = (accept ?? '').split(',').map((range, index) => {
    const [media = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const [, quality = '1'] =
      /^q=([\d.]+)$/.exec(parameters.find((parameter) => parameter.startsWith('q=')) ?? '') ?? [];
    return { media, quality: Number(quality), index };
  });
  const rangesByPreference = mediaRanges
    .filter(({ media, quality }) => [EVENT_STREAM_TYPE, 'application/json'].includes(media) && quality > 0)
    .sort((left, right) => right.quality - left.quality || left.index - right.index);
  return rangesByPreference[0]?.media === EVENT_STREAM_TYPE;
}
