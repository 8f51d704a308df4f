import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Caller } from '../../permissions.ts';
import { invalidInput } from '../../problems.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { authenticateRequest, requirePermission } from '../auth/route-groups.ts';
import {
  createRecordSchema,
  type Fields,
  type JsonSchema,
  parseId,
  type StoredRecordOf,
  serializeRecord,
} from '../fields/field.ts';
import { type RouteHead, routeHeadOf } from '../routes/define-routes.ts';
import { createAccountView } from '../routes/execute.ts';
import { MAX_RECORDS_PER_PAGE, pagingParameters } from '../routes/pagination.ts';
import {
  type ParsedParameters,
  parseQueryParameters,
  type QueryParameter,
  type QueryParameters,
} from '../routes/query-parameters.ts';
import type { RequestContext } from '../routes/request-context.ts';
import type { FeedRequest, Route, RouteInput, SerializedFeedPage } from '../routes/route.ts';
import { readHeaderValues } from '../server/cors.ts';
import { EVENT_STREAM_TYPE, prefersEventStream, STREAM_BATCH_SIZE, streamFeedEntries } from './sse.ts';
import type { FeedWaiter } from './waiters.ts';

/** Maximum duration of a long poll, in seconds. */
const MAX_WAIT_S = 30;

/** Number of chunks that a stream prefetches. */
const PREFETCH_CHUNKS = 1;

const INVALID_CURSOR_MESSAGE = 'must be a cursor that was answered before';

const waitParameter: QueryParameter<number> = {
  description: 'Seconds to wait for new entries if there are none; values above 30 are treated as 30.',
  schema: { type: 'integer', minimum: 0, default: 0 },
  errorMessage: 'must be a whole number of at least 0',
  parse: (text) => (/^\d+$/.test(text) ? Math.min(Number(text), MAX_WAIT_S) : undefined),
};

const feedParameters = {
  after: {
    description: 'The cursor to continue after. `latest`: only new entries. Omitted: from the oldest stored entry.',
    schema: { type: 'string', pattern: '^(\\d{1,16}|latest)$' },
    errorMessage: `${INVALID_CURSOR_MESSAGE}, or latest`,
    parse: (text) => (text === 'latest' ? text : parseId(text)),
  } as QueryParameter<number | 'latest'>,
  limit: {
    ...pagingParameters.limit,
    description: 'Maximum number of entries to return; values above 1000 are treated as 1000.',
  },
  wait: waitParameter,
};

/** Stored feed entries after a cursor, the cursor to continue with, and whether the end of the feed was reached. */
export type StoredFeedPage<Row> = {
  readonly rows: readonly Row[];
  readonly nextCursor: number;
  readonly isEnd: boolean;
};

/**
 * Defines a feed route (X2). The route returns `{ data, next }` immediately or after a long poll, or it streams
 * server-sent events.
 */
export function defineFeedRoute<Path extends string, P extends QueryParameters, F extends Fields>(
  definition: RouteHead<Path> & {
    parameters: P;
    fields: F;
    handle: (
      view: AccountView,
      caller: Caller,
      parameterValues: ParsedParameters<P>,
      feedRequest: FeedRequest,
    ) => Promise<StoredFeedPage<StoredRecordOf<F>>>;
    cursorAndKindOf: (row: StoredRecordOf<F>) => { cursor: number; kind: string };
  },
): Route {
  return {
    ...routeHeadOf(definition),
    problems: [...(definition.problems ?? []), 'cursor_gone'],
    method: 'GET',
    parameters: { ...feedParameters, ...definition.parameters },
    bodySchema: undefined,
    status: 200,
    responseSchema: createFeedPageSchema(createRecordSchema(definition.fields)),
    recordedKinds: [],
    supportsPreconditions: false,
    mode: 'follow',
    async read(view, caller, parameterValues, feedRequest) {
      const { rows, nextCursor, isEnd } = await definition.handle(
        view,
        caller,
        parameterValues as ParsedParameters<P>,
        feedRequest,
      );
      const entries = rows.map((row) => ({
        ...definition.cursorAndKindOf(row),
        serializedEntry: serializeRecord(definition.fields, row),
      }));
      return { entries, nextCursor, isEnd };
    },
  };
}

function createFeedPageSchema(entrySchema: JsonSchema): JsonSchema {
  return {
    type: 'object',
    required: ['data', 'next'],
    properties: {
      data: { type: 'array', items: entrySchema },
      next: { type: 'string', pattern: '^\\d+$', description: 'The cursor to continue with.' },
    },
  };
}

type ParsedFeedRequest = FeedRequest & {
  readonly parameterValues: Readonly<Record<string, unknown>>;
  readonly waitMs: number;
  readonly isStream: boolean;
};

function parseFeedRequest(
  request: FastifyRequest,
  parameters: QueryParameters,
  query: RouteInput['query'],
): ParsedFeedRequest {
  const {
    after,
    limit = MAX_RECORDS_PER_PAGE,
    wait = 0,
    ...parameterValues
  } = parseQueryParameters({ ...parameters, ...feedParameters }, query);
  // A HEAD request never waits for entries.
  if (request.method === 'HEAD') return { parameterValues, after, limit, waitMs: 0, isStream: false };
  if (!prefersEventStream(request.headers.accept))
    return { parameterValues, after, limit, waitMs: wait * 1_000, isStream: false };
  return {
    parameterValues,
    after: readLastEventId(request) ?? after,
    limit: STREAM_BATCH_SIZE,
    waitMs: 0,
    isStream: true,
  };
}

/** Runs a feed read: responds with the existing entries, with the next entries after a wait, or with a stream. */
export async function executeFollow(
  context: RequestContext,
  route: Extract<Route, { mode: 'follow' }>,
): Promise<FastifyReply> {
  const { request, reply, deps, input } = context;
  const { feedWaiters, group } = deps;
  const { parameterValues, after, limit, waitMs, isStream } = parseFeedRequest(request, route.parameters, input.query);
  const readEntries = (caller: Caller, after: FeedRequest['after']) =>
    route.read(createAccountView(caller, deps), caller, parameterValues, { after, limit });
  if (!isStream && waitMs === 0) return sendFeedPage(reply, await readEntries(context.caller, after));

  const waiter = feedWaiters.addWaiter(context.caller.accountId);
  reply.raw.once('close', () => waiter.end());
  if (reply.raw.destroyed) waiter.end();
  // While the request waits, the caller may lose access.
  const reauthenticate = async () => {
    const caller = await authenticateRequest(group, request.raw);
    requirePermission(caller, route.permission);
    return caller;
  };
  const readEntriesAfter = (cursor: number) =>
    feedWaiters.runRead(waiter, async () => readEntries(await reauthenticate(), cursor));
  try {
    const firstPage = await feedWaiters.runRead(waiter, () => readEntries(context.caller, after));
    // A waiting request holds no slot.
    deps.requestSlots.releaseSlot(reply);
    if (isStream && !reply.sent) {
      const requireAccess = () => feedWaiters.withReadPermit(waiter, reauthenticate);
      return sendEventStream(context, waiter, firstPage, readEntriesAfter, requireAccess);
    }
    const page = isStream ? firstPage : await waitForEntries(waiter, firstPage, waitMs, readEntriesAfter, deps.clock);
    feedWaiters.removeWaiter(waiter);
    return sendFeedPage(reply, page);
  } catch (error) {
    feedWaiters.removeWaiter(waiter);
    throw error;
  }
}

/**
 * Returns the cursor in the Last-Event-ID header; a repeated header is invalid (C4). The header takes precedence over
 * `after`, because a reconnecting client sends both.
 */
function readLastEventId(request: FastifyRequest): number | undefined {
  const [text, ...repeatedValues] = readHeaderValues(request.raw, 'last-event-id');
  if (text === undefined) return undefined;
  const cursor = repeatedValues.length > 0 ? undefined : parseId(text);
  if (cursor === undefined) throw invalidInput([{ field: 'Last-Event-ID', message: INVALID_CURSOR_MESSAGE }]);
  return cursor;
}

async function waitForEntries(
  waiter: FeedWaiter,
  firstPage: SerializedFeedPage,
  waitMs: number,
  readEntriesAfter: (cursor: number) => Promise<SerializedFeedPage>,
  clock: Clock,
): Promise<SerializedFeedPage> {
  const deadline = clock.monotonic() + waitMs;
  let page = firstPage;
  while (page.entries.length === 0 && !waiter.isEnded) {
    const remainingMs = deadline - clock.monotonic();
    if (remainingMs <= 0) break;
    waiter.lastReadPosition = page.nextCursor;
    if (page.isEnd) await waiter.sleep(clock, remainingMs);
    if (waiter.isEnded) break;
    page = await readEntriesAfter(page.nextCursor);
  }
  return page;
}

function sendFeedPage(reply: FastifyReply, { entries, nextCursor }: SerializedFeedPage): FastifyReply {
  // The request timeout may have sent a response already.
  if (reply.sent) return reply;
  const body = { data: entries.map(({ serializedEntry }) => serializedEntry), next: String(nextCursor) };
  return reply.type('application/json; charset=utf-8').header('cache-control', 'no-store').send(JSON.stringify(body));
}

function sendEventStream(
  { request, reply, deps }: RequestContext,
  waiter: FeedWaiter,
  firstPage: SerializedFeedPage,
  readEntriesAfter: (cursor: number) => Promise<SerializedFeedPage>,
  requireAccess: () => Promise<unknown>,
): FastifyReply {
  const eventChunks = streamFeedEntries(waiter, firstPage, { clock: deps.clock, readEntriesAfter, requireAccess });
  const eventStream = Readable.from(eventChunks, { objectMode: true, highWaterMark: PREFETCH_CHUNKS });
  eventStream.once('error', (error) => deps.reportError(request, error));
  eventStream.once('close', () => deps.feedWaiters.removeWaiter(waiter));
  // `x-accel-buffering` prevents a proxy from buffering the stream.
  const streamHeaders = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' };
  return reply.headers(streamHeaders).type(`${EVENT_STREAM_TYPE}; charset=utf-8`).send(eventStream);
}
