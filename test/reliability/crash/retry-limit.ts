import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { type SeededRandom, seededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { apiKey, Carillon } from '../../../packages/sdk/src/index.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { findFreePort } from '../../kit/network/port.ts';
import { NotificationStarts, waitForSentData } from '../../kit/network/wait-for-arrivals.ts';
import { startProcess } from '../../kit/service/service-process.ts';
import type { TestStore } from '../../kit/service/stores.ts';
import { check, formatViolation } from '../checker/check.ts';
import type { Arrival, ClientCall, Crash, History, Pause } from '../checker/history.ts';
import type { ReliabilityTest, RunParameters, RunResult } from '../reliability-test.ts';
import { readCrash, readDatabase, untilDelivered, untilQuiet } from '../workload/observers.ts';
import { PAUSE_OPTIONS, pause } from './crash-loop.ts';

/**
 * Reliability test R5: hooks end at the third failure in a row or the first 401, with random receivers, also
 * across kills.
 */
export const hookRemoval: ReliabilityTest = {
  id: 'R5',
  name: 'removal',
  title: 'targets respond at random, while the service is killed and paused',
  promise: 'each hook ends exactly at its third failure in a row or its first 401',
  unit: 'random sequences of responses',
  quick: 200,
  full: 10_000,
  execute,
};

/** Number of hooks on one database. Each hook has a target with a script of its own. */
const HOOKS = 500;
const EVENTS = 6;
const KILLS = 3;

/** Index of the kill that follows the pause. At that time most receivers have pending deliveries. */
const PAUSE_BEFORE_KILL_INDEX = 1;

/** Number of concurrent requests. */
const CONCURRENCY = 16;

/** Backoffs of the service, as the value of its option. */
const RETRY_WAITS = '2s,2200ms';
/** The backoffs of the service in milliseconds. */
const WAITS_MS = [2_000, 2_200];
/**
 * Slightly shorter than the first backoff, within which no retry starts. An attempt that arrives sooner than this
 * after a failure had started before the service knew the failure, however slow the machine is.
 */
const MAX_RESULT_DELAY_MS = 1_990;

/** A process that is killed within this time after a response may lose the result. */
const MAX_COMMIT_DELAY_MS = 10_000;

/** Actions of a target, one for each attempt; repeated entries are more likely. */
const targetActions = [...Array<200>(7).fill(200), 401, 204, 302, 410, 500, 503, 'reset'] as const;
const MAX_SCRIPT_LENGTH = 7;
const MAX_RESPONSE_MS = 12;

async function execute({ count, seed, stores, context, log }: RunParameters): Promise<RunResult> {
  const random = seededRandom(seed);
  const counts: Record<string, number> = {};
  const broken: string[] = [];
  const rng = stores.map(() => random.fork());
  // Both databases run concurrently, because a run spends most of its time waiting.
  await Promise.all(stores.map((store, index) => runStore(store, index)));
  return { counts, broken };

  async function runStore(store: TestStore, index: number): Promise<void> {
    const ownCount = Math.floor(count / stores.length) + (index < count % stores.length ? 1 : 0);
    for (let left = ownCount; left > 0; left -= HOOKS) {
      const history = await runScripts(context, store, Math.min(left, HOOKS), rng[index] ?? random);
      const faults = check(history);
      broken.push(...faults.map((fault) => `${store.name}: ${formatViolation(fault)}`));
      for (const [what, counted] of Object.entries(countEvents(history))) counts[what] = (counts[what] ?? 0) + counted;
      log(`${store.name}: ${ownCount - Math.max(0, left - HOOKS)} of ${ownCount}`);
    }
  }
}

export function countEvents({ database: { hooks }, arrivals, crashes, pauses = [] }: History): Record<string, number> {
  const ended = (reason: string) => hooks.filter(({ endedReason }) => endedReason === reason).length;
  return {
    scripts: hooks.length,
    'attempts received': arrivals.length,
    'removed at the third failure': ended('three_failures'),
    'removed at a 401': ended('answered_401'),
    'still live': hooks.filter(({ endedReason }) => endedReason === null).length,
    kills: crashes.length,
    pauses: pauses.length,
    'in flight at the pauses': pauses.flatMap((one) => arrivals.filter(isInFlightAt(one))).length,
  };
}

const isInFlightAt =
  ({ stoppedAt }: Pause) =>
  ({ at, answeredAt = at }: Arrival) =>
    at <= stoppedAt && answeredAt >= stoppedAt;

/** Runs the scripts against one service that is killed several times; returns the history. */
async function runScripts(context: Cleanup, store: TestStore, hooks: number, random: SeededRandom): Promise<History> {
  const address = await store.database(context);
  const port = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const startEnvironment = {
    CARILLON_DATABASE: address,
    CARILLON_PORT: String(port),
    CARILLON_RETRY_WAITS: RETRY_WAITS,
    ...PAUSE_OPTIONS,
  };
  let service = await startProcess(startEnvironment);
  atEnd(context, () => void service.process.kill('SIGKILL'));
  const { domain = '', key = '' } = service;
  const carillon = new Carillon({ baseUrl, auth: apiKey({ domain, key }), retries: 0 });
  const receiver = await startReceiver(context, random.fork());
  const calls: ClientCall[] = [];
  const crashes: Crash[] = [];
  const pauses: Pause[] = [];

  await runConcurrently(hooks, async (index) => {
    const path = `/${index}`;
    const askedAt = performance.now();
    await carillon.hooks.create({ target_url: receiver.url + path, event: 'new_event' });
    calls.push({ did: 'subscribe', path, kind: 'new_event', userId: '1', askedAt, answeredAt: performance.now() });
  });
  await runConcurrently(EVENTS, async (index) => {
    const askedAt = performance.now();
    const word = `word ${index}`;
    const event = { event_name: word, start_date: '20270101', due_date: '20270101' };
    const { event_id } = await carillon.events.create(event);
    const record = `${baseUrl}/v2/events/${event_id}`;
    calls.push({ did: 'occur', kind: 'new_event', userId: '1', record, word, askedAt, answeredAt: performance.now() });
  });
  for (let kills = 0; kills < KILLS; kills += 1) {
    await receiver.waitForArrivals(1 + random.integerBelow(hooks * 2));
    if (kills === PAUSE_BEFORE_KILL_INDEX) {
      pauses.push(await pause(service.process));
      await receiver.waitForArrivals(1 + random.integerBelow(hooks));
    }
    const sentAt = performance.now();
    await service.stop('SIGKILL');
    await untilQuiet(address);
    const at = await receiver.catchUp(sentAt);
    crashes.push({ at, ...(await readCrash(address)) });
    service = await startProcess(startEnvironment);
  }
  await untilDelivered(address);
  await service.stop('SIGTERM');
  await receiver.close();
  const database = await readDatabase(address, baseUrl);
  const { arrivals } = receiver;
  const checkerLimits = {
    waitsMs: WAITS_MS,
    maxResultDelayMs: MAX_RESULT_DELAY_MS,
    settlesWithinMs: MAX_COMMIT_DELAY_MS,
  };
  return { calls, arrivals, database, crashes, pauses, ...checkerLimits };
}

async function runConcurrently(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let index = next; index < count; index = next) {
      next += 1;
      await work(index);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

/** Starts a receiver whose targets follow their scripts and then answer 200. It records all arrivals. */
async function startReceiver(context: Cleanup, random: SeededRandom) {
  const arrivals: (Arrival & { answeredAt: number | undefined; isReset: boolean })[] = [];
  const connectionTimes = new NotificationStarts();
  const scripts = new Map<string, (typeof targetActions)[number][]>();
  let waiting: { count: number; resolve: () => void }[] = [];
  const nextAction = (path: string) => {
    const script =
      scripts.get(path) ??
      Array.from({ length: random.integerBelow(MAX_SCRIPT_LENGTH) }, () => random.pick(targetActions));
    scripts.set(path, script);
    return script.shift() ?? 200;
  };
  const server = createServer(async (request, response) => {
    const at = connectionTimes.takeStartTime(request.socket);
    if (request.method === 'GET') {
      response.end();
      return;
    }
    const arrival = {
      path: request.url ?? '',
      deliveryId: String(request.headers['webhook-id']),
      at,
    };
    const action = nextAction(arrival.path);
    const takesMs = random.integerBelow(MAX_RESPONSE_MS);
    response.once('close', () => {
      const answer = action === 'reset' || !response.writableFinished ? undefined : action;
      arrivals.push({
        ...arrival,
        body,
        answeredAt: answer === undefined && action !== 'reset' ? performance.now() : answeredAt,
        answer,
        isReset: action === 'reset',
      });
      for (const one of waiting) if (arrivals.length >= one.count) one.resolve();
      waiting = waiting.filter((one) => arrivals.length < one.count);
    });
    let body = '';
    let answeredAt = Number.POSITIVE_INFINITY;
    try {
      for await (const chunk of request.setEncoding('utf8')) body += chunk;
      await wait(takesMs);
    } catch {
      // The sender has closed the connection.
    }
    // The time is taken before the sender can know of the response.
    answeredAt = performance.now();
    if (action === 'reset') response.socket?.resetAndDestroy();
    else response.writeHead(action, action === 302 ? { location: '/elsewhere' } : {}).end();
  });
  server.on('connection', (socket) => connectionTimes.recordConnection(socket));
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0, backlog: 1_024 }, resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  atEnd(context, close);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    arrivals: arrivals as readonly Arrival[],
    close,
    /**
     * Waits until every connection that was accepted so far is recorded, and returns that time. Attempts that a
     * kill cut off since `killedAt` end at that time.
     */
    async catchUp(killedAt: number) {
      const at = await waitForSentData(url);
      for (const one of arrivals) {
        const isCut = one.answer === undefined && !one.isReset && (one.answeredAt ?? 0) >= killedAt;
        if (isCut && (one.answeredAt ?? 0) <= at) one.answeredAt = at + 1e-3;
      }
      return at;
    },
    /** Resolves after `more` further arrivals, or after a timeout. */
    waitForArrivals: (more: number) =>
      Promise.race([
        new Promise<void>((resolve) => waiting.push({ count: arrivals.length + more, resolve })),
        wait(ARRIVALS_TIMEOUT_MS, undefined, { ref: false }),
      ]),
  };
}

/** Maximum time to wait for arrivals before the next kill or pause. */
const ARRIVALS_TIMEOUT_MS = 1_500;
