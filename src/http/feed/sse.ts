import type { Clock } from '../../clock.ts';
import { Problem } from '../../problems.ts';
import type { FeedSlice } from '../routes/route.ts';
import type { FeedWaiter } from './waiters.ts';

/** A comment, so that neither side nor anybody between them takes the connection for dead. */
const HEARTBEAT_MS = 15_000;

/** How long a revoked key may go unnoticed when no news of it came. */
const CHECK_INTERVAL_MS = 1_000;

/** What a reader is told to wait before coming back. */
const RETRY_MS = 2_000;

export const EVENT_STREAM = 'text/event-stream';

/** Entries that are read, and handed over, at once. */
export const READ_BATCH_SIZE = 100;

export type StreamPorts = {
  readonly clock: Clock;
  /** What came after a cursor; rejects when the caller may not read it any more. */
  look(after: number): Promise<FeedSlice>;
  /** Rejects when the caller may not read any more. */
  check(): Promise<unknown>;
};

/**
 * What happens, as server-sent events from a first stretch on: `id` is the cursor, `event` the kind, `data` the entry.
 * A cursor without data is no event, but the reader takes it along, and comes back with it.
 * It ends when the follower is over or the caller may not read any more, and the reader comes back with Last-Event-ID.
 */
export async function* eventStream(
  follower: FeedWaiter,
  first: FeedSlice,
  ports: StreamPorts,
): AsyncGenerator<string, void, undefined> {
  const { clock } = ports;
  let stretch = first;
  let reached = 0;
  let beatAt = clock.monotonic() + HEARTBEAT_MS;
  yield `retry: ${RETRY_MS}\n\n`;
  // Whoever is lost before anything happens goes on from here, wherever they have begun.
  if (stretch.entries.length === 0) {
    yield cursorOf(stretch);
    reached = stretch.next;
  }
  while (!follower.isOver) {
    if (stretch.entries.length > 0) {
      yield stretch.entries.map(message).join('');
      reached = stretch.entries.at(-1)?.cursor ?? reached;
      beatAt = clock.monotonic() + HEARTBEAT_MS;
    }
    follower.position = stretch.next;
    const isWoken = !stretch.isEnd || (await follower.sleep(clock, untilNext(beatAt - clock.monotonic())));
    if (follower.isOver) return;
    if (clock.monotonic() >= beatAt) {
      // What was left out need not be read again.
      yield stretch.next > reached ? `:\n${cursorOf(stretch)}` : ':\n\n';
      reached = stretch.next;
      beatAt = clock.monotonic() + HEARTBEAT_MS;
    }
    const next = await unlessRefused(() => (isWoken ? ports.look(stretch.next) : stillThere(stretch, ports)));
    if (next === undefined) return;
    stretch = next;
  }
}

/** Nothing new, to whoever may still read. */
async function stillThere(stretch: FeedSlice, { check }: StreamPorts): Promise<FeedSlice> {
  await check();
  return { ...stretch, entries: [] };
}

function untilNext(beatInMs: number): number {
  return Math.min(CHECK_INTERVAL_MS, Math.max(beatInMs, 0));
}

const cursorOf = ({ next }: FeedSlice) => `id: ${next}\n\n`;

function message({ cursor, kind, shown }: FeedSlice['entries'][number]): string {
  return `id: ${cursor}\nevent: ${kind}\ndata: ${JSON.stringify(shown)}\n\n`;
}

/** A refusal cannot be answered in the middle of a stream: the stream ends, and the reader hears it on coming back. */
async function unlessRefused<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** Whether an Accept header asks for a stream rather than for one answer. */
export function wantsStream(accept: string | undefined): boolean {
  const ranges = (accept ?? '').split(',').map((range, index) => {
    const [media = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const [, quality = '1'] = /^q=([\d.]+)$/.exec(parameters.find((one) => one.startsWith('q=')) ?? '') ?? [];
    return { media, quality: Number(quality), index };
  });
  const best = ranges
    .filter(({ media, quality }) => [EVENT_STREAM, 'application/json'].includes(media) && quality > 0)
    .sort((one, other) => other.quality - one.quality || one.index - other.index);
  return best[0]?.media === EVENT_STREAM;
}
