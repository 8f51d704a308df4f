import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import type { SeededChance } from '../../kit/random.ts';
import { Beginnings, heardAll } from '../../kit/wait-for-arrivals.ts';
import { type HookStatus, MAX_FAILURES } from '../checker/delivery-checker.ts';
import type { Arrival } from '../checker/history.ts';

/** One answer in so many is a failure; of those to what has failed, one in so many. */
const FAILS_ONE_IN = 60;
const FAILS_AGAIN_ONE_IN = 3;

/** Who is told nothing for so long is not told any more. */
const SILENCE_TIMEOUT_MS = 30_000;

/** One record in so many is fetched before it is answered. */
const FETCHES_ONE_IN = 4;

/** A failure that is said, where to break off would be none. */
const EXPLICIT_FAILURE = 503;

const failures = [500, 503, 410, 204, 302, 'reset'] as const;

/** A notification, and the base address of the node that sent it. */
export type ReceivedArrival = Arrival & { readonly from: string };

export type Receiver = {
  readonly arrivals: readonly ReceivedArrival[];
  /** Where the hook of this path has its target. */
  at(path: string): string;
  /** Resolves when whoever had connected by now is known of, with that moment. */
  catchUp(): Promise<number>;
  /** Resolves while it has a notification that it has not answered: on any path, or on each of these where it did not fail. */
  whenBusy(paths?: readonly string[]): Promise<void>;
  /** From now on nothing is answered, until this is called: then all of it is; resolves when that is done. */
  holdResponses(): () => Promise<void>;
  /** What a crash has left of its failures: from these on it counts again how many more it may answer. */
  onCrash(at: number, fates: ReadonlyMap<string, HookStatus>): void;
  /** Whatever it has not answered yet on these paths fails. */
  failAll(isMeant: (path: string) => boolean): void;
  /** From now on nothing fails by chance. */
  recover(): void;
};

export type ReceiverOptions = {
  readonly random: SeededChance;
  /** How long it takes to answer, at least and at most, so that there is always something in flight to be killed. */
  readonly responseDelayMs: readonly [number, number];
  /** How long after a failure something may still come that was begun before it was heard of. */
  readonly maxResultDelayMs: number;
  /** The status of a GET of what was told; undefined where nobody answered. */
  readonly fetchStatus: (resourceUrl: string) => Promise<number | undefined>;
};

/** A receiver that writes down everything, and whose answers are decided by chance: never so that a hook has to end. */
export async function startReceiver(context: Cleanup, options: ReceiverOptions): Promise<Receiver> {
  const { random, responseDelayMs, maxResultDelayMs, fetchStatus } = options;
  const arrivals: ReceivedArrival[] = [];
  const beginnings = new Beginnings();
  /** By path: failures in a row that the service may know of, at most, and when the last of them was answered. */
  const failing = new Map<string, { count: number; at: number }>();
  let crashedAt = Number.NEGATIVE_INFINITY;
  let recovered = false;
  /** What it has not answered yet. */
  const answering = new Set<{ path: string; mustFail: boolean; done: Promise<void> }>();
  let held = Promise.resolve();

  function decide(path: string, at: number, mustFail: boolean): 200 | (typeof failures)[number] {
    const before = failing.get(path) ?? { count: 0, at: Number.NEGATIVE_INFINITY };
    const oneIn = before.count > 0 ? FAILS_AGAIN_ONE_IN : FAILS_ONE_IN;
    const fails = mustFail || (!recovered && random.below(oneIn) === 0);
    if (fails && before.count < MAX_FAILURES - 1) {
      failing.set(path, { count: before.count + 1, at: performance.now() });
      return random.one(failures);
    }
    // What began before the failure was heard of, or went down with its sender, clears nothing.
    if (at > crashedAt && at > before.at + maxResultDelayMs) failing.delete(path);
    return 200;
  }

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isFresh = beginnings.isFresh(request.socket);
    const at = beginnings.of(request.socket);
    if (request.method === 'GET') return void response.end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const resourceUrl = String(JSON.parse(body).resource_url);
    const deliveryId = String(request.headers['webhook-id']);
    const arrival = { path: request.url ?? '', deliveryId, at, body, from: new URL(resourceUrl).origin };
    const completed = Promise.withResolvers<void>();
    const one = { path: arrival.path, mustFail: false, done: completed.promise };
    answering.add(one);
    try {
      const [min, max] = responseDelayMs;
      await wait(min + random.below(max - min + 1));
      await held;
      const fetched = random.below(FETCHES_ONE_IN) === 0 ? await fetchStatus(resourceUrl) : undefined;
      const decided = decide(arrival.path, at, one.mustFail);
      // A connection that was left open may break: then the same attempt goes on over a new one, and nothing has failed.
      const answer = await give(response, decided === 'reset' && !isFresh ? EXPLICIT_FAILURE : decided);
      const answered = { answeredAt: performance.now(), answer };
      arrivals.push({ ...arrival, ...answered, ...(fetched === undefined ? {} : { fetched }) });
    } finally {
      answering.delete(one);
      completed.resolve();
    }
  }

  const server = createServer((request, response) => {
    // What breaks off before it was read has not been heard.
    receive(request, response).catch(() => response.destroy());
  });
  server.on('connection', (socket) => beginnings.connected(socket));
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0, backlog: 1_024 }, resolve));
  atEnd(context, () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    arrivals,
    at: (path) => url + path,
    catchUp: () => heardAll(url),
    async whenBusy(paths) {
      const isBusyOn = (path: string) => failing.has(path) || [...answering].some((one) => one.path === path);
      const isBusy = () => (paths === undefined ? answering.size > 0 : paths.every(isBusyOn));
      for (const giveUpAt = performance.now() + SILENCE_TIMEOUT_MS; !isBusy(); await wait(1)) {
        if (performance.now() > giveUpAt) throw new Error(`nobody is told anything within ${SILENCE_TIMEOUT_MS} ms`);
      }
    },
    holdResponses() {
      const release = Promise.withResolvers<void>();
      held = release.promise;
      return async () => {
        release.resolve();
        await Promise.all([...answering].map(({ done }) => done));
      };
    },
    onCrash(at, fates) {
      crashedAt = at;
      for (const [path, fate] of fates) {
        if (fate === 0) failing.delete(path);
        else if (typeof fate === 'number') failing.set(path, { count: fate, at: Number.NEGATIVE_INFINITY });
      }
    },
    failAll(isMeant) {
      for (const one of answering) if (isMeant(one.path)) one.mustFail = true;
    },
    recover() {
      recovered = true;
    },
  };
}

/** Answers as decided; resolves with the status once it was handed over, or undefined where there was none. */
function give(response: ServerResponse, decided: number | 'reset'): Promise<number | undefined> {
  if (decided === 'reset') {
    response.socket?.resetAndDestroy();
    return Promise.resolve(undefined);
  }
  return new Promise((resolve) => {
    response.once('close', () => resolve(response.writableFinished ? decided : undefined));
    response.writeHead(decided, decided === 302 ? { location: '/elsewhere' } : {}).end(() => resolve(decided));
  });
}
