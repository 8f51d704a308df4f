import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Caller } from '../../permissions.ts';
import { invalidInput } from '../../problems.ts';
import type { AccountView } from '../../store/account-scope.ts';
import { type Fields, type JsonSchema, responseSchema, type Shown, serializeRecord } from '../fields/field.ts';
import { parseId } from '../fields/ids.ts';
import { MAX_RECORDS, pagingParameters } from '../routes/pagination.ts';
import { type Given, type Parameter, type Parameters, readQuery } from '../routes/query-parameters.ts';
import type { FeedRequest, FeedSlice, Head, Input, Route } from '../routes/route.ts';
import { headerLines } from '../server/headers.ts';
import { EVENT_STREAM, eventStream, READ_BATCH_SIZE, wantsStream } from './sse.ts';
import type { FeedWaiter, FeedWaiters } from './waiters.ts';

/** The longest that a call waits for something to happen. */
const MAX_WAIT_S = 30;

/** How far a stream reads ahead of its reader. */
const CHUNKS_AHEAD = 1;

const CURSOR_MUST = 'must be a cursor that was answered before';

const wait: Parameter<number> = {
  description: 'How many seconds to wait for something to happen when there is nothing; more than 30 is taken as 30.',
  schema: { type: 'integer', minimum: 0, default: 0 },
  errorMessage: 'must be a whole number of at least 0',
  read: (text) => (/^\d+$/.test(text) ? Math.min(Number(text), MAX_WAIT_S) : undefined),
};

const followParameters = {
  after: {
    description:
      'The cursor behind which to go on; latest: behind all that there is; left out: from the oldest that is kept.',
    schema: { type: 'string', pattern: '^(\\d{1,16}|latest)$' },
    errorMessage: `${CURSOR_MUST}, or latest`,
    read: (text) => (text === 'latest' ? text : parseId(text)),
  } as Parameter<number | 'latest'>,
  limit: { ...pagingParameters.limit, description: 'How many entries to answer; more than 1000 is taken as 1000.' },
  wait,
};

/** What was found behind a cursor, as stored. */
export type FeedPage<Row> = { readonly rows: readonly Row[]; readonly next: number; readonly isEnd: boolean };

/** What happens, in order, by cursor (X2): `{ data, next }`, at once, when something has happened, or as a stream. */
export function follow<Path extends string, P extends Parameters, F extends Fields>(
  row: Head<Path> & {
    parameters: P;
    fields: F;
    call: (view: AccountView, caller: Caller, given: Given<P>, reading: FeedRequest) => Promise<FeedPage<Shown<F>>>;
    /** An entry's own cursor and kind. */
    entry: (row: Shown<F>) => { cursor: number; kind: string };
  },
): Route {
  return {
    path: row.path,
    description: row.description,
    permission: row.permission,
    problems: [...(row.problems ?? []), 'cursor_gone'],
    method: 'GET',
    parameters: { ...followParameters, ...row.parameters },
    body: undefined,
    status: 200,
    answer: feedPageSchema(responseSchema(row.fields)),
    records: [],
    conditional: false,
    mode: 'follow',
    async look(view, caller, given, reading) {
      const { rows, next, isEnd } = await row.call(view, caller, given as Given<P>, reading);
      const entries = rows.map((one) => ({ ...row.entry(one), shown: serializeRecord(row.fields, one) }));
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
      next: { type: 'string', pattern: '^\\d+$', description: 'The cursor to go on with.' },
    },
  };
}

export type FollowPorts = {
  readonly followers: FeedWaiters;
  readonly clock: Clock;
  readonly row: Extract<Route, { mode: 'follow' }>;
  /** What the caller may read at this moment. */
  viewOf(caller: Caller): AccountView;
  /** Who calls, asked again; rejects when they may not read this any more. */
  reauthenticate(): Promise<Caller>;
  /** It waits from here on: other calls are not counted against it. */
  excludeFromConcurrency(): void;
  /** Something went wrong on our side in the middle of a stream. */
  failed(error: unknown): void;
};

/** What a call that follows asks for. */
type FollowRequest = FeedRequest & {
  readonly given: Readonly<Record<string, unknown>>;
  readonly waitMs: number;
  readonly isStream: boolean;
};

function followRequest(request: FastifyRequest, parameters: Parameters, query: Input['query']): FollowRequest {
  const { after, limit = MAX_RECORDS, wait = 0, ...given } = readQuery({ ...parameters, ...followParameters }, query);
  // A head is answered with what there is.
  if (request.method === 'HEAD') return { given, after, limit, waitMs: 0, isStream: false };
  if (!wantsStream(request.headers.accept)) return { given, after, limit, waitMs: wait * 1_000, isStream: false };
  return { given, after: lastEventId(request) ?? after, limit: READ_BATCH_SIZE, waitMs: 0, isStream: true };
}

/** Answers a call that follows: its entries at once, the first ones to happen, or a stream of them. */
export async function respondWithFeed(
  request: FastifyRequest,
  reply: FastifyReply,
  caller: Caller,
  input: Input,
  ports: FollowPorts,
): Promise<FastifyReply> {
  const { followers, row, viewOf } = ports;
  const { given, after, limit, waitMs, isStream } = followRequest(request, row.parameters, input.query);
  const look = (who: Caller, after: FeedRequest['after']) => row.look(viewOf(who), who, given, { after, limit });
  if (!isStream && waitMs === 0) return answer(reply, await look(caller, after));

  const follower = followers.join(caller.accountId);
  reply.raw.once('close', () => follower.end());
  if (reply.raw.destroyed) follower.end();
  const lookAgain = (behind: number) =>
    followers.read(follower, async () => look(await ports.reauthenticate(), behind));
  try {
    const first = await followers.read(follower, () => look(caller, after));
    ports.excludeFromConcurrency();
    if (isStream && !reply.sent) return stream(reply, follower, first, lookAgain, ports);
    const stretch = isStream ? first : await firstToHappen(follower, first, waitMs, lookAgain, ports.clock);
    followers.leave(follower);
    return answer(reply, stretch);
  } catch (error) {
    followers.leave(follower);
    throw error;
  }
}

/** C4: given twice it is refused, as a parameter would be. It goes before `after`: a reader that comes back sends both. */
function lastEventId(request: FastifyRequest): number | undefined {
  const [text, ...more] = headerLines(request.raw, 'last-event-id');
  if (text === undefined) return undefined;
  const cursor = more.length > 0 ? undefined : parseId(text);
  if (cursor === undefined) throw invalidInput([{ field: 'Last-Event-ID', message: CURSOR_MUST }]);
  return cursor;
}

async function firstToHappen(
  follower: FeedWaiter,
  first: FeedSlice,
  waitMs: number,
  look: (behind: number) => Promise<FeedSlice>,
  clock: Clock,
): Promise<FeedSlice> {
  const giveUpAt = clock.monotonic() + waitMs;
  let stretch = first;
  while (stretch.entries.length === 0 && !follower.isOver) {
    const leftMs = giveUpAt - clock.monotonic();
    if (leftMs <= 0) break;
    follower.position = stretch.next;
    if (stretch.isEnd) await follower.sleep(clock, leftMs);
    if (follower.isOver) break;
    stretch = await look(stretch.next);
  }
  return stretch;
}

function answer(reply: FastifyReply, { entries, next }: FeedSlice): FastifyReply {
  // Given up meanwhile: it has had its answer.
  if (reply.sent) return reply;
  const body = { data: entries.map(({ shown }) => shown), next: String(next) };
  return reply.type('application/json; charset=utf-8').header('cache-control', 'no-store').send(JSON.stringify(body));
}

function stream(
  reply: FastifyReply,
  follower: FeedWaiter,
  first: FeedSlice,
  look: (behind: number) => Promise<FeedSlice>,
  { followers, clock, reauthenticate, failed }: FollowPorts,
): FastifyReply {
  const check = () => followers.readPermit(reauthenticate);
  const chunks = eventStream(follower, first, { clock, look, check });
  const readable = Readable.from(chunks, { objectMode: true, highWaterMark: CHUNKS_AHEAD });
  readable.once('error', failed);
  readable.once('close', () => followers.leave(follower));
  // A proxy that gathered the answer would keep it back.
  const headers = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' };
  return reply.headers(headers).type(`${EVENT_STREAM}; charset=utf-8`).send(readable);
}
