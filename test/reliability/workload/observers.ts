import type { Kind } from '../../../src/delivery/outbox/event-kinds.ts';
import type { Cleanup } from '../../kit/cleanup.ts';
import type { SeededChance } from '../../kit/random.ts';
import type { Call, Crash, Database, History } from '../checker/history.ts';
import { type Clients, type Endpoint, isResponse, send, startClients } from './clients.ts';
import { type Receiver, startReceiver } from './receiver.ts';

export { type Endpoint, isResponse, send, type Tally, type Unanswered } from './clients.ts';
export {
  readCrash,
  readDatabase,
  untilBetweenTransactions,
  untilDelivered,
  untilQuiet,
  withSnapshot,
} from './database.ts';
export type { ReceivedArrival } from './receiver.ts';

/** What every record's address begins with in the history, at whichever node it was made or is told of. */
export const BASE = 'http://carillon';

/** How a service is started that is watched: its waits are longer than an answer can be on its way. */
export const WATCHED = { CARILLON_RETRY_WAITS: '2s,2200ms' } as const;
const WAITS_MS = [2_000, 2_200];
const MAX_RESULT_DELAY_MS = 1_700;

/** What was answered so long ago is written down, however little of a processor there is. */
export const MAX_COMMIT_DELAY_MS = 5_000;

/** Clients and a receiver, alive through whatever dies beside them, and their two history. */
export type Observers = Omit<Clients, 'record'> &
  Pick<Receiver, 'arrivals' | 'whenBusy' | 'holdResponses' | 'failAll' | 'recover'> & {
    /** Whoever starts here may tell of records before anybody calls it, and die before anybody does. */
    expectOrigin(origin: string): void;
    /** Makes a hook whose target is this path of the receiver; answers its id. */
    subscribe(endpoint: Endpoint, path: string, kind: Kind): Promise<string>;
    /** Deletes one; resolves with the moment of its 200, which nothing may come after. */
    unsubscribe(endpoint: Endpoint, path: string, id: string): Promise<number>;
    /** Something that delivers has died, or stands still: what its database holds, read once that holds still. */
    recordCrash(read: () => Promise<Omit<Crash, 'at'>>): Promise<Crash>;
    /**
     * The three history, once everything is over.
     *
     * @param before what others asked for in the same database, earlier
     */
    history(database: Database, before?: readonly Call[]): History;
  };

export type ObserverOptions = {
  readonly random: SeededChance;
  readonly writers?: number;
  /** Between two requests of one client, at most. */
  readonly restMs?: number;
  readonly responseDelayMs?: readonly [number, number];
  readonly userId?: string;
  /** What the words in its records begin with: others may write to the same database. */
  readonly words?: string;
};

/** Starts the observers. Nobody calls before `through` says where, and nobody is told before there is a hook. */
export async function startObservers(context: Cleanup, options: ObserverOptions): Promise<Observers> {
  const { random, writers = 6, restMs = 20, responseDelayMs = [5, 15], userId = '1', words = 'w' } = options;
  const crashes: Crash[] = [];
  let endpoints: readonly Endpoint[] = [];
  const origins = new Set<string>();
  const receiver = await startReceiver(context, {
    random: random.fork(),
    responseDelayMs,
    maxResultDelayMs: MAX_RESULT_DELAY_MS,
    async fetchStatus(resourceUrl) {
      // Whoever lives is asked; where nobody can answer nobody knows.
      const [endpoint] = endpoints;
      if (endpoint === undefined) return undefined;
      const reply = await send(endpoint, ['GET', new URL(resourceUrl).pathname]);
      return isResponse(reply) && reply.status !== 503 ? reply.status : undefined;
    },
  });
  const at = (path: string) => BASE + path;
  const clients = startClients(context, { random: random.fork(), writers, restMs, userId, words, at });
  return {
    ...clients,
    ...receiver,
    routeTo(...next) {
      endpoints = next;
      for (const { baseUrl } of next) origins.add(baseUrl);
      clients.routeTo(...next);
    },
    expectOrigin: (origin) => void origins.add(origin),
    async subscribe(endpoint, path, kind) {
      origins.add(endpoint.baseUrl);
      const askedAt = performance.now();
      const reply = await send(endpoint, ['POST', '/v2/hooks'], { target_url: receiver.at(path), event: kind });
      // Whether there is one now, only the database knows.
      if (reply !== 'not taken' && !isResponse(reply))
        clients.record({ did: 'subscribe', path, kind, userId, askedAt, answeredAt: undefined });
      if (!isResponse(reply) || reply.status !== 201) throw new Error(`no hook: ${JSON.stringify(reply)}`);
      clients.record({ did: 'subscribe', path, kind, userId, askedAt, answeredAt: performance.now() });
      return String(reply.data.id);
    },
    async unsubscribe(endpoint, path, id) {
      const askedAt = performance.now();
      const reply = await send(endpoint, ['DELETE', `/v2/hooks/${id}`]);
      if (!isResponse(reply) || reply.status !== 200) throw new Error(`not ended: ${JSON.stringify(reply)}`);
      // Who had connected when the answer came, and was not yet looked at, began before it.
      const answeredAt = await receiver.catchUp();
      clients.record({ did: 'unsubscribe', path, askedAt, answeredAt });
      return answeredAt;
    },
    async recordCrash(read) {
      const at = await receiver.catchUp();
      const crash = { at, ...(await read()) };
      crashes.push(crash);
      receiver.onCrash(at, crash.fates);
      return crash;
    },
    history: (database, before = []) => ({
      calls: [...before, ...clients.calls],
      // One record has one name, whichever node tells of it.
      arrivals: receiver.arrivals.map((one) =>
        origins.has(one.from) ? { ...one, body: one.body.replace(`"${one.from}/`, `"${BASE}/`) } : one,
      ),
      database,
      crashes,
      waitsMs: WAITS_MS,
      maxResultDelayMs: MAX_RESULT_DELAY_MS,
      settlesWithinMs: MAX_COMMIT_DELAY_MS,
    }),
  };
}
