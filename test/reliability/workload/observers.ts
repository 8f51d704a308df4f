import type { Kind } from '../../../src/delivery/outbox/event-kinds.ts';
import type { Cleanup } from '../../kit/cleanup.ts';
import type { SeededChance } from '../../kit/random.ts';
import type { Call, Crash, Database, Ledgers } from '../checker/history.ts';
import { ask, type Clients, type Door, isAnswer, startClients } from './clients.ts';
import { type Receiver, startReceiver } from './receiver.ts';

export { ask, type Door, isAnswer, type Tally, type Unanswered } from './clients.ts';
export {
  readCrash,
  readDatabase,
  reading,
  untilBetweenTransactions,
  untilQuiet,
  untilTold,
} from './database.ts';
export type { Heard } from './receiver.ts';

/** What every record's address begins with in the ledgers, at whichever node it was made or is told of. */
export const BASE = 'http://carillon';

/** How a service is started that is watched: its waits are longer than an answer can be on its way. */
export const WATCHED = { CARILLON_RETRY_WAITS: '2s,2200ms' } as const;
const WAITS_MS = [2_000, 2_200];
const HEARS_WITHIN_MS = 1_700;

/** What was answered so long ago is written down, however little of a processor there is. */
export const SETTLES_WITHIN_MS = 5_000;

/** Clients and a receiver, alive through whatever dies beside them, and their two ledgers. */
export type Witnesses = Omit<Clients, 'note'> &
  Pick<Receiver, 'heard' | 'whenBusy' | 'hold' | 'failAll' | 'recover'> & {
    /** Whoever starts here may tell of records before anybody calls it, and die before anybody does. */
    expect(origin: string): void;
    /** Makes a hook whose target is this path of the receiver; answers its id. */
    subscribe(door: Door, path: string, kind: Kind): Promise<string>;
    /** Deletes one; resolves with the moment of its 200, which nothing may come after. */
    unsubscribe(door: Door, path: string, id: string): Promise<number>;
    /** Something that delivers has died, or stands still: what its database holds, read once that holds still. */
    crashed(read: () => Promise<Omit<Crash, 'at'>>): Promise<Crash>;
    /**
     * The three ledgers, once everything is over.
     *
     * @param before what others asked for in the same database, earlier
     */
    ledgers(database: Database, before?: readonly Call[]): Ledgers;
  };

export type WitnessOptions = {
  readonly random: SeededChance;
  readonly writers?: number;
  /** Between two requests of one client, at most. */
  readonly restMs?: number;
  readonly answersAfterMs?: readonly [number, number];
  readonly userId?: string;
  /** What the words in its records begin with: others may write to the same database. */
  readonly words?: string;
};

/** Starts the witnesses. Nobody calls before `through` says where, and nobody is told before there is a hook. */
export async function startWitnesses(context: Cleanup, options: WitnessOptions): Promise<Witnesses> {
  const { random, writers = 6, restMs = 20, answersAfterMs = [5, 15], userId = '1', words = 'w' } = options;
  const crashes: Crash[] = [];
  let doors: readonly Door[] = [];
  const origins = new Set<string>();
  const receiver = await startReceiver(context, {
    random: random.fork(),
    answersAfterMs,
    hearsWithinMs: HEARS_WITHIN_MS,
    async fetchStatus(resourceUrl) {
      // Whoever lives is asked; where nobody can answer nobody knows.
      const [door] = doors;
      if (door === undefined) return undefined;
      const reply = await ask(door, ['GET', new URL(resourceUrl).pathname]);
      return isAnswer(reply) && reply.status !== 503 ? reply.status : undefined;
    },
  });
  const at = (path: string) => BASE + path;
  const clients = startClients(context, { random: random.fork(), writers, restMs, userId, words, at });
  return {
    ...clients,
    ...receiver,
    through(...next) {
      doors = next;
      for (const { baseUrl } of next) origins.add(baseUrl);
      clients.through(...next);
    },
    expect: (origin) => void origins.add(origin),
    async subscribe(door, path, kind) {
      origins.add(door.baseUrl);
      const askedAt = performance.now();
      const reply = await ask(door, ['POST', '/v2/hooks'], { target_url: receiver.at(path), event: kind });
      // Whether there is one now, only the database knows.
      if (reply !== 'not taken' && !isAnswer(reply))
        clients.note({ did: 'subscribe', path, kind, userId, askedAt, answeredAt: undefined });
      if (!isAnswer(reply) || reply.status !== 201) throw new Error(`no hook: ${JSON.stringify(reply)}`);
      clients.note({ did: 'subscribe', path, kind, userId, askedAt, answeredAt: performance.now() });
      return String(reply.data.id);
    },
    async unsubscribe(door, path, id) {
      const askedAt = performance.now();
      const reply = await ask(door, ['DELETE', `/v2/hooks/${id}`]);
      if (!isAnswer(reply) || reply.status !== 200) throw new Error(`not ended: ${JSON.stringify(reply)}`);
      // Who had connected when the answer came, and was not yet looked at, began before it.
      const answeredAt = await receiver.caughtUp();
      clients.note({ did: 'unsubscribe', path, askedAt, answeredAt });
      return answeredAt;
    },
    async crashed(read) {
      const at = await receiver.caughtUp();
      const crash = { at, ...(await read()) };
      crashes.push(crash);
      receiver.survived(at, crash.fates);
      return crash;
    },
    ledgers: (database, before = []) => ({
      calls: [...before, ...clients.calls],
      // One record has one name, whichever node tells of it.
      arrivals: receiver.heard.map((one) =>
        origins.has(one.from) ? { ...one, body: one.body.replace(`"${one.from}/`, `"${BASE}/`) } : one,
      ),
      database,
      crashes,
      waitsMs: WAITS_MS,
      hearsWithinMs: HEARS_WITHIN_MS,
      settlesWithinMs: SETTLES_WITHIN_MS,
    }),
  };
}
