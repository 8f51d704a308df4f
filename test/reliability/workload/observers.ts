import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import type { OccurrenceKind } from '../../../src/delivery/outbox/event-kinds.ts';
import type { Cleanup } from '../../kit/cleanup.ts';
import type { ClientCall, Crash, DatabaseContent, History } from '../checker/history.ts';
import { type Endpoint, isResponse, sendRequest, startClients, type WorkloadClients } from './clients.ts';
import { startReceiver, type WorkloadReceiver } from './receiver.ts';

export {
  type Endpoint,
  isResponse,
  type RequestTally as Tally,
  sendRequest as send,
  type Unanswered,
} from './clients.ts';
export {
  readCrash,
  readDatabase,
  untilBetweenTransactions,
  untilDatabaseQuiet as untilQuiet,
  untilDelivered,
  withSnapshot,
} from './database.ts';
export type { ReceivedArrival } from './receiver.ts';

/** Base of every record address in the history, for all nodes. */
export const HISTORY_BASE_URL = 'http://carillon';

/** Options of a service under test. Its backoffs are longer than the maximum delay of a result. */
export const OBSERVED_SERVICE_OPTIONS = { CARILLON_RETRY_WAITS: '2s,2200ms' } as const;
/** The backoffs of a service under test, in milliseconds. */
const WAITS_MS = [2_000, 2_200];
/** Maximum time between a response and the time at which the service knows the response. */
const MAX_RESULT_DELAY_MS = 1_700;

/** A result is committed within this time after its response, even on a busy machine. */
export const MAX_COMMIT_DELAY_MS = 5_000;

/** Clients and a receiver that outlive the processes under test and record the history. */
export type Observers = Omit<WorkloadClients, 'record'> &
  Pick<WorkloadReceiver, 'arrivals' | 'whenBusy' | 'holdResponses' | 'failAll' | 'recover'> & {
    /** Announces a node that may deliver before any client calls it, and may die before that. */
    expectOrigin(origin: string): void;
    /** Creates a hook whose target is this path of the receiver. Returns the id of the hook. */
    subscribe(endpoint: Endpoint, path: string, kind: OccurrenceKind): Promise<string>;
    /** Deletes a hook. Resolves with the time of the 200, after which nothing may arrive. */
    unsubscribe(endpoint: Endpoint, path: string, id: string): Promise<number>;
    /**
     * Records the state that a dead or paused process left. `read` reads the database when the state no longer
     * changes.
     */
    recordCrash(read: () => Promise<Omit<Crash, 'at'>>): Promise<Crash>;
    /**
     * Returns the complete history at the end of a run.
     *
     * @param before calls of earlier rounds on the same database
     */
    history(database: DatabaseContent, before?: readonly ClientCall[]): History;
  };

export type ObserverOptions = {
  readonly random: SeededRandom;
  readonly writers?: number;
  /** Maximum time between two requests of one client. */
  readonly restMs?: number;
  readonly responseDelayMs?: readonly [number, number];
  readonly userId?: string;
  /** Prefix of the words in the records, because other observers may write to the same database. */
  readonly words?: string;
};

/** Starts clients and a receiver. Clients wait until `routeTo` names an endpoint. */
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
      // The first endpoint is queried. Without an endpoint the status stays unknown.
      const [endpoint] = endpoints;
      if (endpoint === undefined) return undefined;
      const reply = await sendRequest(endpoint, ['GET', new URL(resourceUrl).pathname]);
      return isResponse(reply) && reply.status !== 503 ? reply.status : undefined;
    },
  });
  const at = (path: string) => HISTORY_BASE_URL + path;
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
      const reply = await sendRequest(endpoint, ['POST', '/v2/hooks'], { target_url: receiver.at(path), event: kind });
      // Only the database shows whether the hook exists now.
      if (reply !== 'not taken' && !isResponse(reply))
        clients.record({ did: 'subscribe', path, kind, userId, askedAt, answeredAt: undefined });
      if (!isResponse(reply) || reply.status !== 201) throw new Error(`no hook: ${JSON.stringify(reply)}`);
      clients.record({ did: 'subscribe', path, kind, userId, askedAt, answeredAt: performance.now() });
      return String(reply.data.id);
    },
    async unsubscribe(endpoint, path, id) {
      const askedAt = performance.now();
      const reply = await sendRequest(endpoint, ['DELETE', `/v2/hooks/${id}`]);
      if (!isResponse(reply) || reply.status !== 200) throw new Error(`not ended: ${JSON.stringify(reply)}`);
      // Connections that are accepted up to this time were started before the response arrived.
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
      // A record has one address in the history, whichever node delivers it.
      arrivals: receiver.arrivals.map((one) =>
        origins.has(one.from) ? { ...one, body: one.body.replace(`"${one.from}/`, `"${HISTORY_BASE_URL}/`) } : one,
      ),
      database,
      crashes,
      waitsMs: WAITS_MS,
      maxResultDelayMs: MAX_RESULT_DELAY_MS,
      settlesWithinMs: MAX_COMMIT_DELAY_MS,
    }),
  };
}
