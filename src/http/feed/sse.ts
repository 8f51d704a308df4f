import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';
import type { FeedSlice } from '../routes/route.ts';
import type { FeedWaiter } from './waiters.ts';

/** Interval of the comments that a stream sends, so that clients and proxies keep the connection open. */
const HEARTBEAT_INTERVAL_MS = 15_000;

/** Interval at which a stream checks its caller again, in case the commit event of a revoked key was lost. */
const ACCESS_CHECK_INTERVAL_MS = 1_000;

/** Delay before a client reconnects, sent to clients as `retry`. */
const RECONNECT_DELAY_MS = 2_000;

export const EVENT_STREAM = 'text/event-stream';

/** Maximum number of feed entries per read, and per chunk of a stream. */
export const READ_BATCH_SIZE = 100;

export type StreamPorts = {
  readonly clock: Clock;
  /** Reads the entries after a cursor; rejects if the caller may no longer read them. */
  read(after: number): Promise<FeedSlice>;
  /** Rejects if the caller may no longer read the feed. */
  check(): Promise<unknown>;
};

/**
 * Streams the feed as server-sent events, starting with a first page: `id` is the cursor, `event` the kind, `data` the
 * entry. An `id` without data dispatches no event, but the client stores it and sends it when it reconnects. The stream
 * ends when the waiter is ended or the caller may no longer read; the client reconnects with Last-Event-ID.
 */
export async function* streamEvents(
  waiter: FeedWaiter,
  firstPage: FeedSlice,
  ports: StreamPorts,
): AsyncGenerator<string, void, undefined> {
  const { clock } = ports;
  let page = firstPage;
  let lastSentCursor = 0;
  let heartbeatAt = clock.monotonic() + HEARTBEAT_INTERVAL_MS;
  yield `retry: ${RECONNECT_DELAY_MS}\n\n`;
  // Send the cursor first, so that a client that disconnects before the first entry resumes from here.
  if (page.entries.length === 0) {
    yield formatCursorEvent(page);
    lastSentCursor = page.nextCursor;
  }
  while (!waiter.isEnded) {
    if (page.entries.length > 0) {
      yield page.entries.map(formatServerSentEvent).join('');
      lastSentCursor = page.entries.at(-1)?.cursor ?? lastSentCursor;
      heartbeatAt = clock.monotonic() + HEARTBEAT_INTERVAL_MS;
    }
    waiter.position = page.nextCursor;
    const isWoken = !page.isEnd || (await waiter.sleep(clock, computeSleepMs(heartbeatAt - clock.monotonic())));
    if (waiter.isEnded) return;
    if (clock.monotonic() >= heartbeatAt) {
      // Advance the client's cursor past entries that the client may not see, so that they are not read again.
      yield page.nextCursor > lastSentCursor ? `:\n${formatCursorEvent(page)}` : ':\n\n';
      lastSentCursor = page.nextCursor;
      heartbeatAt = clock.monotonic() + HEARTBEAT_INTERVAL_MS;
    }
    const nextPage = await undefinedOnProblem(() =>
      isWoken ? ports.read(page.nextCursor) : recheckAccess(page, ports),
    );
    if (nextPage === undefined) return;
    page = nextPage;
  }
}

/** Checks that the caller may still read. Returns the page without entries, because there are no new ones to send. */
async function recheckAccess(page: FeedSlice, { check }: StreamPorts): Promise<FeedSlice> {
  await check();
  return { ...page, entries: [] };
}

function computeSleepMs(heartbeatInMs: number): number {
  return Math.min(ACCESS_CHECK_INTERVAL_MS, Math.max(heartbeatInMs, 0));
}

const formatCursorEvent = ({ nextCursor }: FeedSlice) => `id: ${nextCursor}\n\n`;

function formatServerSentEvent({ cursor, kind, shown }: FeedSlice['entries'][number]): string {
  return `id: ${cursor}\nevent: ${kind}\ndata: ${JSON.stringify(shown)}\n\n`;
}

/**
 * Runs the work; returns undefined if it throws a problem. A stream cannot send a problem, so it ends, and the client
 * gets the problem when it reconnects.
 */
async function undefinedOnProblem<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
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
    .filter(({ media, quality }) => [EVENT_STREAM, 'application/json'].includes(media) && quality > 0)
    .sort((one, other) => other.quality - one.quality || one.index - other.index);
  return rangesByPreference[0]?.media === EVENT_STREAM;
}
