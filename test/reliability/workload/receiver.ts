import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import { NotificationStarts, waitForSentData } from '../../kit/network/wait-for-arrivals.ts';
import { type HookStatus, MAX_FAILURES } from '../checker/delivery-checker.ts';
import type { Arrival } from '../checker/history.ts';

/** One response in 60 is a failure. */
const FAILS_ONE_IN = 60;
/** One response in 3 after a failure is another failure. */
const FAILS_AGAIN_ONE_IN = 3;

/** Maximum time without a notification. */
const SILENCE_TIMEOUT_MS = 30_000;

/** One record in 4 is fetched before the response. */
const FETCHES_ONE_IN = 4;

/** A failure with a status, for cases in which a reset would not count as a failure. */
const EXPLICIT_FAILURE = 503;

const failures = [500, 503, 410, 204, 302, 'reset'] as const;

/** A notification, with the base address of the node that sent it. */
export type ReceivedArrival = Arrival & { readonly from: string };

export type WorkloadReceiver = {
  readonly arrivals: readonly ReceivedArrival[];
  /** Returns the target URL of the hook with this path. */
  at(path: string): string;
  /** Waits until every connection that was accepted so far is recorded. Resolves with that time. */
  catchUp(): Promise<number>;
  /** Resolves when a notification is unanswered: on any path, or on each of `paths` that has not failed. */
  whenBusy(paths?: readonly string[]): Promise<void>;
  /** Holds all responses until the returned function is called. Its promise resolves when the responses are sent. */
  holdResponses(): () => Promise<void>;
  /** Takes over the failure counts that a crash left, so that the number of further allowed failures is right. */
  onCrash(at: number, fates: ReadonlyMap<string, HookStatus>): void;
  /** Fails every unanswered notification on these paths. */
  failAll(matchesPath: (path: string) => boolean): void;
  /** Stops random failures. */
  recover(): void;
};

export type ReceiverOptions = {
  readonly random: SeededRandom;
  /** Minimum and maximum delay of a response, so that some deliveries are always in flight at a kill. */
  readonly responseDelayMs: readonly [number, number];
  /** Maximum time after a failure in which attempts may arrive that started before the service knew of the failure. */
  readonly maxResultDelayMs: number;
  /** Returns the status of a GET of the record; undefined if no node answered. */
  readonly fetchStatus: (resourceUrl: string) => Promise<number | undefined>;
};

/**
 * Starts a receiver that records all notifications. It answers at random, but never fails so often that a hook has
 * to end.
 */
export async function startReceiver(context: Cleanup, options: ReceiverOptions): Promise<WorkloadReceiver> {
  const { random, responseDelayMs, maxResultDelayMs, fetchStatus } = options;
  const arrivals: ReceivedArrival[] = [];
  const connectionTimes = new NotificationStarts();
  /**
   * For each path, the maximum number of failures in a row that the service may know of, and the time of the last
   * failure.
   */
  const failureCounts = new Map<string, { count: number; at: number }>();
  let crashedAt = Number.NEGATIVE_INFINITY;
  let recovered = false;
  /** Notifications that have no response yet. */
  const unanswered = new Set<{ path: string; mustFail: boolean; done: Promise<void> }>();
  let responsesReleased = Promise.resolve();

  function decideResponse(path: string, at: number, mustFail: boolean): 200 | (typeof failures)[number] {
    const before = failureCounts.get(path) ?? { count: 0, at: Number.NEGATIVE_INFINITY };
    const oneIn = before.count > 0 ? FAILS_AGAIN_ONE_IN : FAILS_ONE_IN;
    const fails = mustFail || (!recovered && random.integerBelow(oneIn) === 0);
    if (fails && before.count < MAX_FAILURES - 1) {
      failureCounts.set(path, { count: before.count + 1, at: performance.now() });
      return random.pick(failures);
    }
    // A 200 resets the count, unless its attempt started before the failure was known or was lost with its sender.
    if (at > crashedAt && at > before.at + maxResultDelayMs) failureCounts.delete(path);
    return 200;
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isFresh = connectionTimes.isFresh(request.socket);
    const at = connectionTimes.takeStartTime(request.socket);
    if (request.method === 'GET') return void response.end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const resourceUrl = String(JSON.parse(body).resource_url);
    const deliveryId = String(request.headers['webhook-id']);
    const arrival = { path: request.url ?? '', deliveryId, at, body, from: new URL(resourceUrl).origin };
    const completed = Promise.withResolvers<void>();
    const one = { path: arrival.path, mustFail: false, done: completed.promise };
    unanswered.add(one);
    try {
      const [min, max] = responseDelayMs;
      await wait(min + random.integerBelow(max - min + 1));
      await responsesReleased;
      const fetched = random.integerBelow(FETCHES_ONE_IN) === 0 ? await fetchStatus(resourceUrl) : undefined;
      const decided = decideResponse(arrival.path, at, one.mustFail);
      // If a reused connection is reset, the service repeats the same attempt on a new connection. A reset would then
      // not be a failure.
      const answer = await sendResponse(response, decided === 'reset' && !isFresh ? EXPLICIT_FAILURE : decided);
      const answered = { answeredAt: performance.now(), answer };
      arrivals.push({ ...arrival, ...answered, ...(fetched === undefined ? {} : { fetched }) });
    } finally {
      unanswered.delete(one);
      completed.resolve();
    }
  }

  const server = createServer((request, response) => {
    // A notification that breaks off before it was read completely is not recorded.
    receive(request, response).catch(() => response.destroy());
  });
  server.on('connection', (socket) => connectionTimes.recordConnection(socket));
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0, backlog: 1_024 }, resolve));
  atEnd(context, () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    arrivals,
    at: (path) => url + path,
    catchUp: () => waitForSentData(url),
    async whenBusy(paths) {
      const isBusyOn = (path: string) => failureCounts.has(path) || [...unanswered].some((one) => one.path === path);
      const isBusy = () => (paths === undefined ? unanswered.size > 0 : paths.every(isBusyOn));
      for (const giveUpAt = performance.now() + SILENCE_TIMEOUT_MS; !isBusy(); await wait(1)) {
        if (performance.now() > giveUpAt) throw new Error(`nobody is told anything within ${SILENCE_TIMEOUT_MS} ms`);
      }
    },
    holdResponses() {
      const release = Promise.withResolvers<void>();
      responsesReleased = release.promise;
      return async () => {
        release.resolve();
        await Promise.all([...unanswered].map(({ done }) => done));
      };
    },
    onCrash(at, fates) {
      crashedAt = at;
      for (const [path, fate] of fates) {
        if (fate === 0) failureCounts.delete(path);
        else if (typeof fate === 'number') failureCounts.set(path, { count: fate, at: Number.NEGATIVE_INFINITY });
      }
    },
    failAll(isMeant) {
      for (const one of unanswered) if (isMeant(one.path)) one.mustFail = true;
    },
    recover() {
      recovered = true;
    },
  };
}

/** Sends the response. Resolves with its status, or undefined if it could not be sent. */
function sendResponse(response: ServerResponse, decided: number | 'reset'): Promise<number | undefined> {
  if (decided === 'reset') {
    response.socket?.resetAndDestroy();
    return Promise.resolve(undefined);
  }
  return new Promise((resolve) => {
    response.once('close', () => resolve(response.writableFinished ? decided : undefined));
    response.writeHead(decided, decided === 302 ? { location: '/elsewhere' } : {}).end(() => resolve(decided));
  });
}
