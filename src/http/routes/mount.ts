import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Caller, Permission } from '../../permissions.ts';
import { notFound, Problem } from '../../problems.ts';
import { AccountView, AccountWrite } from '../../store/account-scope.ts';
import type { Store, Tx } from '../../store/store.ts';
import { requirePermission } from '../auth/authenticate.ts';
import { type Budget, budgetOf, type RateLimits } from '../auth/rate-limits.ts';
import { authenticateRequest, type RouteGroup } from '../auth/route-groups.ts';
import type { Bodies, Body } from '../body/read-body.ts';
import { type FollowPorts, respondWithFeed } from '../feed/follow-route.ts';
import type { FeedWaiters } from '../feed/waiters.ts';
import { parseId } from '../fields/ids.ts';
import { ownerOf, type Work } from '../server/request-slots.ts';
import { MIN_LARGE_BYTES } from '../server/response-sizes.ts';
import {
  type Conditions,
  conditionsOf,
  etagOf,
  evaluatePreconditions,
  isTagged,
  representationOf,
  requirePreconditions,
  shownOnceBy,
  without,
} from './etag.ts';
import {
  callOf,
  findStoredResponse,
  type IdempotentCall,
  InProgress,
  readIdempotencyKey,
  runOnce,
} from './idempotency.ts';
import { LargePages } from './large-page-slots.ts';
import { sendPage, writeListing } from './list-response.ts';
import type { RawQuery } from './query-parameters.ts';
import { type Input, idNames, type Route, type RouteResult } from './route.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls, once a door has let them in. */
    caller: Caller | undefined;
    /** The door that they came to. */
    door: RouteGroup | undefined;
  }
  interface FastifyContextConfig {
    /** What the row asks of a key. */
    permission?: Permission | undefined;
    /** What a call of the row is counted as. */
    budget?: Budget;
  }
}

export type MountPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly baseUrl: () => string;
  readonly followers: FeedWaiters;
  readonly limits: Pick<RateLimits, 'take'>;
  readonly bodies: Pick<Bodies, 'read' | 'readLong'>;
  readonly work: Work;
  /** Whether an account is pending so much that nothing may add to it. */
  readonly isOverPendingQuota: (accountId: number) => boolean | Promise<boolean>;
  /** Hears of what went wrong on our side when it is too late for an answer. */
  readonly failed: (request: FastifyRequest, error: unknown) => void;
};

/** A row with what follows from the others, and from its own answer. */
type CompiledRoute = {
  readonly row: Route;
  /** What a condition on the record at its path is about. */
  readonly representation: ReturnType<typeof representationOf>;
  readonly isTagged: boolean;
  readonly shownOnce: readonly string[];
};

/** What a request asks for beside its input. */
type RequestOptions = {
  /** The caller's address, for the audit log. */
  readonly source: string;
  readonly conditions: Conditions | undefined;
  readonly once: IdempotentCall | undefined;
  /** Whether the caller reads enough of what it is sent to be sent as much as was sent before. */
  readonly hasRoom: () => boolean;
  /** Refuses it where that is not so. */
  readonly mustHaveRoom: () => void;
  /** Refuses to send so much to a caller who leaves too much unread. */
  readonly beforeSending: (bytes: number) => void;
};

/** Mounts every row behind its door. Whoever is not let in gets 401, for unknown paths too (C1). */
export function mount(app: FastifyInstance, door: RouteGroup, ports: MountPorts): void {
  const { rows } = door;
  app.register(
    async (scope) => {
      const enter = (caller: Caller, request: FastifyRequest, reply: FastifyReply): void => {
        request.caller = caller;
        const { budget, permission } = request.routeOptions.config;
        // Known by now, and nothing done yet: what is refused costs next to nothing, and is counted for nobody else.
        ports.limits.take(caller, budget ?? 'reads', reply);
        // C4: whatever else may be wrong with it, what is not there is not there.
        if (request.is404) throw notFound();
        // Before the body is read: a caller who may not, need not be listened to (C2).
        requirePermission(caller, permission);
      };
      scope.addHook('onRequest', (request, reply, done) => {
        request.door = door;
        reply.headers(door.headers);
        const caller = authenticateRequest(door, request.raw);
        if (caller instanceof Promise) {
          const end = ports.work.beginLookup(request, reply);
          caller
            .finally(end)
            .then((one) => enter(one, request, reply))
            .then(() => done(), done);
          return;
        }
        enter(caller, request, reply);
        done();
      });
      scope.setNotFoundHandler(() => {
        throw notFound();
      });
      const running = new InProgress();
      const largePages = new LargePages(ports.clock);
      for (const row of rows) addRoute(scope, compileRoute(row, rows), door, ports, running, largePages);
    },
    { prefix: door.prefix },
  );
}

function compileRoute(row: Route, rows: readonly Route[]): CompiledRoute {
  return {
    row,
    representation: representationOf(row, rows),
    isTagged: isTagged(row, rows),
    shownOnce: shownOnceBy(row),
  };
}

function addRoute(
  scope: FastifyInstance,
  mounted: CompiledRoute,
  door: RouteGroup,
  ports: MountPorts,
  running: InProgress,
  largePages: LargePages,
): void {
  const { row } = mounted;
  const names = idNames(row.path);
  const answer = async (request: FastifyRequest, reply: FastifyReply, input: Input, body: Body | undefined) => {
    const caller = requireCaller(request, door);
    ports.work.begin(request, reply, caller);
    if (row.mode === 'follow') {
      return respondWithFeed(request, reply, caller, input, followPorts(request, reply, row, door, ports));
    }
    const asked: RequestOptions = {
      source: request.ip,
      conditions: row.conditional ? conditionsOf(request.raw) : undefined,
      // X4: the word is a key's own.
      once:
        row.method === 'POST' && caller.keyId !== 0
          ? readIdempotencyKey(request.raw, row, caller, input, body?.hashBehind)
          : undefined,
      ...roomFor(request, row, caller, ports.work),
    };
    if (row.mode === 'steps') ports.work.leave(reply);
    const answered = await run(mounted, caller, input, asked, door, ports, running);
    if (answered.listing !== undefined) {
      const isGone = () => reply.sent || reply.raw.destroyed;
      const { accountId } = caller;
      const page = await writeListing(answered.listing, { accountId, largePages, isGone, ...asked });
      asked.beforeSending(page.body.length);
      return sendPage(request, reply, page, ports.baseUrl() + door.prefix + row.path);
    }
    send(reply, mounted, asked, answered, ports.baseUrl() + door.prefix);
    if (isFetch(row, request, reply)) door.onFetched?.(caller, row.path, input.ids);
    return reply;
  };
  scope.route({
    method: row.method,
    url: row.path.replace(/\{(\w+)\}/g, ':$1'),
    config: { permission: row.permission, budget: budgetOf(row) },
    // C4: an address that none of ours can be is found out before its body is read.
    onRequest: (request, _reply, done) => {
      idsOf(names, request);
      done();
    },
    handler: async (request, reply) => {
      const ids = idsOf(names, request);
      const query = request.query as RawQuery;
      if (row.method === 'GET') return answer(request, reply, { ids, query, body: undefined }, undefined);
      const body = await bodyOf(request, reply, row, ids, requireCaller(request, door), ports);
      const input = { ids, query, body: body?.value, text: body?.text };
      if (body?.text === undefined) return answer(request, reply, input, body);
      return answer(request, reply, input, body).finally(() => body.text?.close());
    },
  });
}

function bodyOf(
  request: FastifyRequest,
  reply: FastifyReply,
  row: Route,
  ids: Input['ids'],
  caller: Caller,
  { bodies }: MountPorts,
): Promise<Body | undefined> | undefined {
  const sender = { owner: ownerOf(caller), isKnown: true };
  if (row.longField === undefined) return bodies.read(request, reply, sender);
  return bodies.readLong(request, reply, sender, row.longField, callOf(row, ids));
}

function roomFor(
  request: FastifyRequest,
  { path }: Route,
  caller: Caller,
  work: Work,
): Pick<RequestOptions, 'hasRoom' | 'mustHaveRoom' | 'beforeSending'> {
  const { sizes } = work;
  const owner = ownerOf(caller);
  const expected = () => sizes.expected(caller.userId, path);
  const mustHaveRoom = (bytes: number) => work.mustHaveRoom(request, owner, bytes);
  return {
    hasRoom: () => work.hasRoomToRead(owner, expected()),
    mustHaveRoom: () => mustHaveRoom(expected()),
    beforeSending(bytes) {
      sizes.note(caller.userId, path, bytes);
      if (bytes >= MIN_LARGE_BYTES) mustHaveRoom(bytes);
    },
  };
}

/** Whether a single record was asked for and given, be it as one that is known already. */
function isFetch(row: Route, request: FastifyRequest, reply: FastifyReply): boolean {
  return row.mode === 'read' && row.conditional && request.method === 'GET' && [200, 304].includes(reply.statusCode);
}

function viewOf(caller: Caller, { store, clock }: MountPorts): AccountView {
  return new AccountView(store.read, caller.accountId, clock.now());
}

function followPorts(
  request: FastifyRequest,
  reply: FastifyReply,
  row: FollowPorts['row'],
  door: RouteGroup,
  ports: MountPorts,
): FollowPorts {
  return {
    row,
    followers: ports.followers,
    clock: ports.clock,
    viewOf: (caller) => viewOf(caller, ports),
    async reauthenticate() {
      const caller = await authenticateRequest(door, request.raw);
      requirePermission(caller, row.permission);
      return caller;
    },
    excludeFromConcurrency: () => ports.work.leave(reply),
    failed: (error) => ports.failed(request, error),
  };
}

async function run(
  mounted: CompiledRoute,
  caller: Caller,
  input: Input,
  asked: RequestOptions,
  door: RouteGroup,
  ports: MountPorts,
  running: InProgress,
): Promise<RouteResult> {
  const { row } = mounted;
  if (row.mode === 'follow') throw new Error('what follows is answered elsewhere');
  if (row.mode === 'read') {
    const read = () => {
      // Others of the caller may have been answered since it came.
      asked.mustHaveRoom();
      return row.run(viewOf(caller, ports), caller, input);
    };
    return row.bypassesReadLimit === true ? read() : ports.store.limitedRead(read);
  }
  const { once } = asked;
  const change = () =>
    row.mode === 'steps'
      ? runInSteps(row, caller, input, asked, door, ports)
      : write(mounted, row, caller, input, asked, door, ports);
  if (once === undefined) return change();
  // X4: an answer that was given before needs nothing of what led to it.
  return running.run(once, async () => (await findStoredResponse(viewOf(caller, ports), once)) ?? change());
}

async function write(
  { representation, shownOnce }: CompiledRoute,
  row: Extract<Route, { mode: 'write' }>,
  caller: Caller,
  input: Input,
  { source, conditions, once }: RequestOptions,
  door: RouteGroup,
  ports: MountPorts,
): Promise<RouteResult> {
  const { store, clock } = ports;
  const found = await row.prepare?.(caller, input, viewOf(caller, ports), source);
  const { accountId } = caller;
  const mayOwe = !(await ports.isOverPendingQuota(accountId));
  const work = async (tx: Tx) => {
    const write = new AccountWrite(tx, accountId, clock.now(), row.lockMode, { ...caller, source });
    write.mayEnqueue = mayOwe;
    const act = async () => {
      if (conditions !== undefined && representation !== undefined) {
        const { body } = await representation.run(write, caller, input);
        requirePreconditions(conditions, etagOf(JSON.stringify(body)));
      }
      return row.run(write, caller, input, found);
    };
    // Asked first, and on its way together with what the row asks first.
    const confirming = door.reauthorize(tx, caller);
    const running =
      once === undefined ? act() : runOnce(tx, write, once, row.status, act, (body) => without(shownOnce, body));
    const [confirmed, ran] = await Promise.allSettled([confirming, running]);
    if (confirmed.status === 'rejected') throw confirmed.reason;
    if (!confirmed.value) throw new Problem(door.unauthenticatedProblem);
    if (ran.status === 'rejected') throw ran.reason;
    return ran.value;
  };
  return store.write(work, { accountId, how: row.lockMode });
}

/** Each step asks anew whether the caller may; the answer is kept when all are through. */
async function runInSteps(
  row: Extract<Route, { mode: 'steps' }>,
  caller: Caller,
  input: Input,
  { source, once }: RequestOptions,
  door: RouteGroup,
  ports: MountPorts,
): Promise<RouteResult> {
  const { store, clock } = ports;
  const { accountId } = caller;
  const inOne = async <T>(work: (write: AccountWrite, tx: Tx) => Promise<T>) => {
    const mayOwe = !(await ports.isOverPendingQuota(accountId));
    return store.write(
      async (tx) => {
        const write = new AccountWrite(tx, accountId, clock.now(), 'alone', { ...caller, source });
        write.mayEnqueue = mayOwe;
        if (!(await door.reauthorize(tx, caller))) throw new Problem(door.unauthenticatedProblem);
        return work(write, tx);
      },
      { accountId, how: 'alone' },
    );
  };
  const answer = await row.run({ view: viewOf(caller, ports), write: inOne }, caller, input);
  if (once === undefined) return answer;
  return inOne((write, tx) =>
    runOnce(
      tx,
      write,
      once,
      row.status,
      async () => answer,
      (body) => body,
    ),
  );
}

function send(
  reply: FastifyReply,
  { row, isTagged, shownOnce }: CompiledRoute,
  { conditions, beforeSending }: RequestOptions,
  answer: RouteResult,
  base: string,
): FastifyReply {
  // Given up meanwhile: it has had its answer.
  if (reply.sent) return reply;
  if (answer.created !== undefined) reply.header('location', base + answer.created);
  if (answer.repeats !== undefined) reply.header('idempotency-replayed', 'true');
  const text = JSON.stringify(answer.body);
  if (isTagged) {
    const tag = etagOf(shownOnce.length === 0 ? text : JSON.stringify(without(shownOnce, answer.body)));
    reply.header('etag', tag);
    if (row.mode === 'read') {
      // Whoever keeps it asks each time whether it still is so, and keeps it for nobody else.
      reply.header('cache-control', 'private, no-cache');
      const verdict = conditions === undefined ? 'holds' : evaluatePreconditions(conditions, tag);
      if (verdict === 'differs') throw new Problem('precondition_failed');
      if (verdict === 'matched') return reply.code(304).send();
    }
  }
  // A long text is turned into bytes here, so that it lies in memory once until it is read.
  const bytes = text.length < MIN_LARGE_BYTES ? text : Buffer.from(text);
  beforeSending(bytes.length);
  return reply
    .code(answer.repeats ?? row.status)
    .type('application/json; charset=utf-8')
    .send(bytes);
}

function idsOf(names: readonly string[], request: FastifyRequest): Record<string, number> {
  const ids: Record<string, number> = {};
  for (const name of names) {
    const id = parseId((request.params as Record<string, unknown>)[name]);
    if (id === undefined) throw notFound();
    ids[name] = id;
  }
  return ids;
}

function requireCaller(request: FastifyRequest, door: RouteGroup): Caller {
  if (request.caller === undefined) throw new Problem(door.unauthenticatedProblem);
  return request.caller;
}
