import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Caller } from '../../permissions.ts';
import { invalidInput } from '../../problems.ts';
import type { AccountView } from '../../store/account-scope.ts';
import {
  type Fields,
  type JsonSchema,
  type OutputOf,
  parseId,
  responseSchema,
  serializeRecord,
} from '../fields/field.ts';
import { MAX_RECORDS, pagingParameters } from '../routes/pagination.ts';
import {
  type ParsedParameters,
  type QueryParameter,
  type QueryParameters,
  readQuery,
} from '../routes/query-parameters.ts';
import type { FeedRequest, FeedSlice, Route, RouteHead, RouteInput } from '../routes/route.ts';
import { headerLines } from '../server/cors.ts';
import { EVENT_STREAM, READ_BATCH_SIZE, streamEvents, wantsStream } from './sse.ts';
import type { FeedWaiter, FeedWaiters } from './waiters.ts';

/** Maximum duration of a long poll, in seconds. */
const MAX_WAIT_S = 30;

/** Number of chunks that a stream prefetches. */
const PREFETCH_CHUNKS = 1;

const CURSOR_REQUIREMENT = 'must be a cursor that was answered before';

const wait: QueryParameter<number> = {
  description: 'Seconds to wait for new entries if there are none; values above 30 are treated as 30.',
  schema: { type: 'integer', minimum: 0, default: 0 },
  errorMessage: 'must be a whole number of at least 0',
  read: (text) => (/^\d+$/.test(text) ? Math.min(Number(text), MAX_WAIT_S) : undefined),
};

const followParameters = {
  after: {
    description: 'The cursor to continue after. `latest`: only new entries. Omitted: from the oldest stored entry.',
    schema: { type: 'string', pattern: '^(\\d{1,16}|latest)$' },
    errorMessage: `${CURSOR_REQUIREMENT}, or latest`,
    read: (text) => (text === 'latest' ? text : parseId(text)),
  } as QueryParameter<number | 'latest'>,
  limit: {
    ...pagingParameters.limit,
    description: 'Maximum number of entries to return; values above 1000 are treated as 1000.',
  },
  wait,
};

/** Stored feed entries after a cursor, the cursor to continue with, and whether the end of the feed was reached. */
export type FeedPage<Row> = { readonly rows: readonly Row[]; readonly next: number; readonly isEnd: boolean };

/** Defines a feed route (X2): `{ data, next }` immediately, as a long poll, or as a stream of server-sent events. */
export function follow<Path extends string, P extends QueryParameters, F extends Fields>(
  definition: RouteHead<Path> & {
    parameters: P;
    fields: F;
    call: (
      view: AccountView,
      caller: Caller,
      given: ParsedParameters<P>,
      reading: FeedRequest,
    ) => Promise<FeedPage<OutputOf<F>>>;
    entry: (row: OutputOf<F>) => { cursor: number; kind: string };
  },
): Route {
  return {
    path: definition.path,
    description: definition.description,
    permission: definition.permission,
    problems: [...(definition.problems ?? []), 'cursor_gone'],
    method: 'GET',
    parameters: { ...followParameters, ...definition.parameters },
    body: undefined,
    status: 200,
    responseSchema: feedPageSchema(responseSchema(definition.fields)),
    records: [],
    conditional: false,
    mode: 'follow',
    async read(view, caller, given, reading) {
      const { rows, next, isEnd } = await definition.call(view, caller, given as ParsedParameters<P>, reading);
      const entries = rows.map((one) => ({ ...definition.entry(one), shown: serializeRecord(definition.fields, one) }));
      return { entries, next, isEnd };
    },
  };
}

function feedPageSchema(entry: JsonSchema): JsonSchema {
  return {
    type: 'object',
    required: ['data', 'next'],
    properties: {
      data: { type: 'array', items: entry },
      next: { type: 'string', pattern: '^\\d+$', description: 'The cursor to continue with.' },
    },
  };
}

export type FollowPorts = {
  readonly feedWaiters: FeedWaiters;
  readonly clock: Clock;
  readonly row: Extract<Route, { mode: 'follow' }>;
  viewOf(caller: Caller): AccountView;
  /** Authenticates the caller again; rejects if the caller may no longer read the feed. */
  reauthenticate(): Promise<Caller>;
  /** Releases the request slot before the call waits. */
  excludeFromConcurrency(): void;
  /** Reports an internal error in the middle of a stream. */
  reportError(error: unknown): void;
};

type FollowRequest = FeedRequest & {
  readonly given: Readonly<Record<string, unknown>>;
  readonly waitMs: number;
  readonly isStream: boolean;
};

function parseFollowRequest(
  request: FastifyRequest,
  parameters: QueryParameters,
  query: RouteInput['query'],
): FollowRequest {
  const { after, limit = MAX_RECORDS, wait = 0, ...given } = readQuery({ ...parameters, ...followParameters }, query);
  // A HEAD request never waits for entries.
  if (request.method === 'HEAD') return { given, after, limit, waitMs: 0, isStream: false };
  if (!wantsStream(request.headers.accept)) return { given, after, limit, waitMs: wait * 1_000, isStream: false };
  return { given, after: lastEventId(request) ?? after, limit: READ_BATCH_SIZE, waitMs: 0, isStream: true };
}

/** Responds to a feed request: existing entries immediately, the next entries after a wait, or a stream. */
export async function respondWithFeed(
  request: FastifyRequest,
  reply: FastifyReply,
  caller: Caller,
  input: RouteInput,
  ports: FollowPorts,
): Promise<FastifyReply> {
  const { feedWaiters, row, viewOf } = ports;
  const { given, after, limit, waitMs, isStream } = parseFollowRequest(request, row.parameters, input.query);
  const read = (caller: Caller, after: FeedRequest['after']) =>
    row.read(viewOf(caller), caller, given, { after, limit });
  if (!isStream && waitMs === 0) return sendPage(reply, await read(caller, after));

  const waiter = feedWaiters.join(caller.accountId);
  reply.raw.once('close', () => waiter.end());
  if (reply.raw.destroyed) waiter.end();
  const readAfter = (cursor: number) =>
    feedWaiters.read(waiter, async () => read(await ports.reauthenticate(), cursor));
  try {
    const first = await feedWaiters.read(waiter, () => read(caller, after));
    ports.excludeFromConcurrency();
    if (isStream && !reply.sent) return sendStream(reply, waiter, first, readAfter, ports);
    const page = isStream ? first : await waitForEntries(waiter, first, waitMs, readAfter, ports.clock);
    feedWaiters.leave(waiter);
    return sendPage(reply, page);
  } catch (error) {
    feedWaiters.leave(waiter);
    throw error;
  }
}

/**
 * The cursor in the Last-Event-ID header; a repeated header is invalid (C4). The header takes precedence over `after`,
 * because a reconnecting client sends both.
 */
function lastEventId(request: FastifyRequest): number | undefined {
  const [text, ...more] = headerLines(request.raw, 'last-event-id');
  if (text === undefined) return undefined;
  const cursor = more.length > 0 ? undefined : parseId(text);
  if (cursor === undefined) throw invalidInput([{ field: 'Last-Event-ID', message: CURSOR_REQUIREMENT }]);
  return cursor;
}

async function waitForEntries(
  waiter: FeedWaiter,
  first: FeedSlice,
  waitMs: number,
  readAfter: (cursor: number) => Promise<FeedSlice>,
  clock: Clock,
): Promise<FeedSlice> {
  const deadline = clock.monotonic() + waitMs;
  let page = first;
  while (page.entries.length === 0 && !waiter.isOver) {
    const leftMs = deadline - clock.monotonic();
    if (leftMs <= 0) break;
    waiter.position = page.next;
    if (page.isEnd) await waiter.sleep(clock, leftMs);
    if (waiter.isOver) break;
    page = await readAfter(page.next);
  }
  return page;
}

function sendPage(reply: FastifyReply, { entries, next }: FeedSlice): FastifyReply {
  // The request timeout may have sent a response already.
  if (reply.sent) return reply;
  const body = { data: entries.map(({ shown }) => shown), next: String(next) };
  return reply.type('application/json; charset=utf-8').header('cache-control', 'no-store').send(JSON.stringify(body));
}

function sendStream(
  reply: FastifyReply,
  waiter: FeedWaiter,
  first: FeedSlice,
  readAfter: (cursor: number) => Promise<FeedSlice>,
  { feedWaiters, clock, reauthenticate, reportError }: FollowPorts,
): FastifyReply {
  const check = () => feedWaiters.withReadPermit(reauthenticate);
  const chunks = streamEvents(waiter, first, { clock, read: readAfter, check });
  const readable = Readable.from(chunks, { objectMode: true, highWaterMark: PREFETCH_CHUNKS });
  readable.once('error', reportError);
  readable.once('close', () => feedWaiters.leave(waiter));
  // `x-accel-buffering` prevents a proxy from buffering the stream.
  const headers = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' };
  return reply.headers(headers).type(`${EVENT_STREAM}; charset=utf-8`).send(readable);
}
