import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller, Permission } from '../access.ts';
import type { Clock } from '../clock.ts';
import { notFound, Problem } from '../problems.ts';
import { AccountView, AccountWrite } from '../store/account.ts';
import type { Store } from '../store/store.ts';
import { type CallerOf, type Confirm, demand } from './auth.ts';
import { parseId } from './ids.ts';
import type { RawQuery } from './query.ts';
import { type Answer, type Input, idNames, type Route } from './route.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls, once a door has let them in. */
    caller: Caller | undefined;
  }
  interface FastifyContextConfig {
    /** What the row asks of a key. */
    permission?: Permission | undefined;
  }
}

/** A door to the rows: the prefix they are mounted under, and how a caller is known there. */
export type Door = {
  readonly prefix: string;
  readonly callerOf: CallerOf;
  readonly confirm: Confirm;
};

export type MountPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly baseUrl: () => string;
};

/** Mounts every row behind a door. Whoever is not let in gets 401, for unknown paths too (C1). */
export function mount(app: FastifyInstance, rows: readonly Route[], door: Door, ports: MountPorts): void {
  app.register(
    async (scope) => {
      scope.addHook('onRequest', async (request) => {
        request.caller = await door.callerOf(request.raw);
        if (request.caller === undefined) throw new Problem('unauthorized');
        // C4: whatever else may be wrong with it, what is not there is not there.
        if (request.is404) throw notFound();
        // Before the body is read: a caller who may not, need not be listened to (C2).
        demand(request.caller, request.routeOptions.config.permission);
      });
      scope.setNotFoundHandler(() => {
        throw notFound();
      });
      for (const row of rows) addRow(scope, row, door, ports);
    },
    { prefix: door.prefix },
  );
}

function addRow(scope: FastifyInstance, row: Route, door: Door, ports: MountPorts): void {
  const names = idNames(row.path);
  scope.route({
    method: row.method,
    url: row.path.replace(/\{(\w+)\}/g, ':$1'),
    config: { permission: row.permission },
    handler: async (request, reply) => {
      const caller = known(request);
      const input: Input = { ids: idsOf(names, request), query: request.query as RawQuery, body: request.body };
      const answer = await run(row, caller, input, door, ports);
      return send(request, reply, row, answer, ports.baseUrl() + door.prefix);
    },
  });
}

async function run(row: Route, caller: Caller, input: Input, door: Door, ports: MountPorts): Promise<Answer> {
  const { store, clock } = ports;
  if (row.mode === 'read') return row.run(new AccountView(store.read, caller.accountId, clock.now()), caller, input);
  await row.prepare?.(caller, input);
  return store.write(async (tx) => {
    const write = new AccountWrite(tx, caller.accountId, clock.now(), row.holding);
    // Asked first, and on its way together with what the row asks first.
    const confirming = door.confirm(tx, caller);
    const running = row.run(write, caller, input);
    const [confirmed, ran] = await Promise.allSettled([confirming, running]);
    if (confirmed.status === 'rejected') throw confirmed.reason;
    if (!confirmed.value) throw new Problem('unauthorized');
    if (ran.status === 'rejected') throw ran.reason;
    return ran.value;
  });
}

function send(request: FastifyRequest, reply: FastifyReply, row: Route, answer: Answer, base: string): FastifyReply {
  // Given up meanwhile: it has had its answer.
  if (reply.sent) return reply;
  if (answer.created !== undefined) reply.header('location', base + answer.created);
  const next = answer.paging === undefined ? undefined : nextPage(request, base + row.path, answer.paging);
  if (next !== undefined) reply.header('link', `<${next}>; rel="next"`);
  return reply.code(row.status).type('application/json; charset=utf-8').send(JSON.stringify(answer.body));
}

/** C7: where the next page is, while there is more. No list has an id in its path. */
function nextPage(request: FastifyRequest, list: string, paging: NonNullable<Answer['paging']>): string | undefined {
  const offset = paging.offset + paging.limit;
  if (offset >= paging.total) return undefined;
  const [, query = ''] = /\?(.*)$/s.exec(request.url) ?? [];
  const parameters = new URLSearchParams(query);
  parameters.set('offset', String(offset));
  parameters.set('limit', String(paging.limit));
  return `${list}?${parameters}`;
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

function known(request: FastifyRequest): Caller {
  if (request.caller === undefined) throw new Problem('unauthorized');
  return request.caller;
}
