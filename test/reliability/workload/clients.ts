import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import type { SeededRandom } from '../../../packages/chaos-receiver/src/random.ts';
import { atEnd, type Cleanup } from '../../kit/cleanup.ts';
import type { ClientCall } from '../checker/history.ts';

/** A request without a response after this time is aborted, for example while the process is paused. */
const RESPONSE_TIMEOUT_MS = 30_000;

/** Maximum time without any acknowledgement. */
const SILENCE_TIMEOUT_MS = 30_000;

/** Base URL and credentials of a caller. */
export type Endpoint = { readonly baseUrl: string; readonly headers: Readonly<Record<string, string>> };

/**
 * Result of a request: a response, no response, or no connection. Without a response, only the database shows the
 * effect.
 */
export type RequestResult = HttpResponse | NoResponse | 'not taken';
type HttpResponse = { readonly status: number; readonly data: Record<string, string> } & ConnectionInfo;

/** The reason for which a request got no response. */
export type NoResponse = { readonly why: string } & ConnectionInfo;

/** Whether the request used a kept-alive connection, which may have been closed while the request was sent. */
type ConnectionInfo = { readonly onReusedConnection: boolean };

export const isResponse = (reply: RequestResult): reply is HttpResponse => reply !== 'not taken' && 'status' in reply;

/** Sends one request. With an agent, the request uses a kept-alive connection. */
export function sendRequest(
  { baseUrl, headers }: Endpoint,
  [method, path]: readonly [method: string, path: string],
  body?: object,
  agent?: Agent,
): Promise<RequestResult> {
  return new Promise((resolve) => {
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = request(`${baseUrl}${path}`, { method, headers: { ...headers, ...json }, agent: agent ?? false });
    sent.setTimeout(RESPONSE_TIMEOUT_MS, () => sent.destroy());
    const silence = (error: Error): NoResponse => ({ why: error.message, onReusedConnection: sent.reusedSocket });
    const answered = (answer: Omit<HttpResponse, 'onReusedConnection'>) =>
      resolve({ ...answer, onReusedConnection: sent.reusedSocket });
    sent.on('response', (response) => void read(response).then(answered, (error) => resolve(silence(error))));
    sent.on('error', (error) => {
      resolve('syscall' in error && error.syscall === 'connect' ? 'not taken' : silence(error));
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function read(response: IncomingMessage): Promise<Omit<HttpResponse, 'onReusedConnection'>> {
  const body = await text(response);
  const status = response.statusCode ?? 0;
  try {
    const json = JSON.parse(body);
    return { status, data: json.data ?? json };
  } catch {
    // This is still a response. Code that needs a missing field will report it.
    return { status, data: { body } };
  }
}

/** A request without a response, with the base URL to which it was sent. */
export type Unanswered = NoResponse & { readonly call: ClientCall; readonly at: string };

/** Counters of the requests, in addition to the calls in the history. */
export type RequestTally = {
  acknowledged: number;
  /** Requests whose connection broke before the response. */
  readonly unanswered: Unanswered[];
  /** Time of the last request that opened its own connection and was answered, by base URL. */
  readonly newcomerAt: Map<string, number>;
  /** Number of responses with 503. */
  refused: number;
  /** Unexpected responses. */
  readonly others: string[];
};

export type WorkloadClients = {
  readonly calls: readonly ClientCall[];
  readonly tally: Readonly<RequestTally>;
  /** Sends all further requests to these endpoints. Without an endpoint, clients wait. */
  routeTo(...endpoints: readonly Endpoint[]): void;
  /** Resolves after `more` further acknowledgements. */
  untilAcknowledged(more: number, withinMs?: number): Promise<void>;
  /** Waits for open requests and starts no new ones. */
  stop(): Promise<void>;
  /** Creates `count` events concurrently, in addition to the other load. */
  burst(endpoint: Endpoint, count: number): Promise<void>;
  /** Adds a call to the history that was not made by these clients. */
  record(call: ClientCall): void;
};

type PlannedCall = {
  readonly how: readonly [method: string, path: string];
  readonly body?: object;
  /** Builds the entry of the history, once the response is known. */
  readonly entry: (times: Pick<ClientCall, 'askedAt' | 'answeredAt'>, data: Record<string, string>) => ClientCall;
};

/**
 * Starts clients that make one change after the other, each on its own kept-alive connection. They mostly create
 * events, sometimes records of the type `client`, and occasionally delete an event. Each record contains a unique
 * word.
 *
 * @param at returns the address of a record in the history, by its path
 * @param restMs maximum time between two requests of one client
 */
export function startClients(
  context: Cleanup,
  { random, writers, restMs, userId, words, at }: ClientOptions,
): WorkloadClients {
  const calls: ClientCall[] = [];
  const tally: RequestTally = { acknowledged: 0, unanswered: [], newcomerAt: new Map(), refused: 0, others: [] };
  let endpoints: readonly Endpoint[] = [];
  let endpointsAvailable = Promise.withResolvers<void>();
  let stopped = false;

  /** Counts a reply. Returns its data, or undefined if only the database shows the effect. */
  function countReply(reply: Exclude<RequestResult, 'not taken'>): Record<string, string> | undefined {
    if (!isResponse(reply)) return undefined;
    if (reply.status === 200 || reply.status === 201) {
      tally.acknowledged += 1;
      return reply.data;
    } else if (reply.status === 503) tally.refused += 1;
    else tally.others.push(`${reply.status} ${JSON.stringify(reply.data)}`);
    return undefined;
  }

  /**
   * Makes a planned call, and retries until a connection is accepted. A request that was never accepted is not
   * recorded.
   */
  async function makeCall({ how, body, entry }: PlannedCall, own: WriterState): Promise<void> {
    while (!stopped) {
      await endpointsAvailable.promise;
      own.turn += 1;
      const endpoint = endpoints[own.turn % endpoints.length];
      if (endpoint === undefined) continue;
      const askedAt = performance.now();
      const reply = await sendRequest(endpoint, how, body, own.agent);
      if (reply === 'not taken') {
        await wait(2);
        continue;
      }
      const data = countReply(reply);
      const answeredAt = data === undefined ? undefined : performance.now();
      const call = entry({ askedAt, answeredAt }, data ?? {});
      calls.push(call);
      if ('why' in reply) tally.unanswered.push({ ...reply, call, at: endpoint.baseUrl });
      else if (!reply.onReusedConnection)
        tally.newcomerAt.set(endpoint.baseUrl, Math.max(askedAt, tally.newcomerAt.get(endpoint.baseUrl) ?? 0));
      return;
    }
  }

  async function runWriter(number: number): Promise<void> {
    const rng = random.fork();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const events: string[] = [];
    const own: WriterState = { agent, turn: number };
    for (let count = 0; !stopped; count += 1) {
      await makeCall(planCall(rng, `${words}${number}.${count}`, events), own);
      await wait(rng.integerBelow(restMs + 1));
    }
    agent.destroy();
  }

  function planCall(rng: SeededRandom, word: string, events: string[]): PlannedCall {
    const deletedPath = rng.integerBelow(12) === 0 ? events.shift() : undefined;
    if (deletedPath !== undefined) {
      const entry: PlannedCall['entry'] = (times) => ({ ...times, did: 'delete', record: at(deletedPath) });
      return { how: ['DELETE', deletedPath], entry };
    }
    const isEvent = rng.integerBelow(3) > 0;
    const kind = isEvent ? 'new_event' : 'new_client';
    const entry: PlannedCall['entry'] = (times, { event_id, client_id }) => {
      const path = isEvent ? `/v2/events/${event_id}` : `/v2/clients/${client_id}`;
      const isKnown = times.answeredAt !== undefined;
      if (isKnown && isEvent) events.push(path);
      return { ...times, did: 'occur', kind, userId, record: isKnown ? at(path) : undefined, word };
    };
    const body = isEvent ? eventNamed(word) : { client_name: word };
    return { how: ['POST', isEvent ? '/v2/events' : '/v2/clients'], body, entry };
  }

  const allWriters = Promise.all(Array.from({ length: writers }, (_, number) => runWriter(number)));
  const stop = async () => {
    stopped = true;
    endpointsAvailable.resolve();
    await allWriters;
  };
  atEnd(context, stop);
  return {
    calls,
    tally,
    routeTo(...next) {
      // Clients that already wait keep the same promise.
      if (next.length === 0 && endpoints.length > 0) endpointsAvailable = Promise.withResolvers();
      if (next.length > 0) endpointsAvailable.resolve();
      endpoints = next;
    },
    async untilAcknowledged(more, withinMs = SILENCE_TIMEOUT_MS) {
      const target = tally.acknowledged + more;
      for (const giveUpAt = performance.now() + withinMs; tally.acknowledged < target; await wait(2)) {
        if (performance.now() > giveUpAt) throw new Error(`not ${more} more acknowledged within ${withinMs} ms`);
      }
    },
    async burst(endpoint, count) {
      const one = async (number: number) => {
        const word = `${words}burst.${number}`;
        const call = { did: 'occur', kind: 'new_event', userId, word, askedAt: performance.now() } as const;
        const reply = await sendRequest(endpoint, ['POST', '/v2/events'], eventNamed(word));
        if (reply === 'not taken') return;
        const data = countReply(reply);
        const known = data && { record: at(`/v2/events/${data.event_id}`), answeredAt: performance.now() };
        const recorded = { ...call, record: undefined, answeredAt: undefined, ...known };
        calls.push(recorded);
        if ('why' in reply) tally.unanswered.push({ ...reply, call: recorded, at: endpoint.baseUrl });
      };
      await Promise.all(Array.from({ length: count }, (_, number) => one(number)));
    },
    stop,
    record: (call) => void calls.push(call),
  };
}

const eventNamed = (word: string) => ({ event_name: word, start_date: '20270101', due_date: '20270102' });

/** State of one client. */
type WriterState = { readonly agent: Agent; turn: number };

export type ClientOptions = {
  readonly random: SeededRandom;
  readonly writers: number;
  readonly restMs: number;
  readonly userId: string;
  readonly words: string;
  readonly at: (path: string) => string;
};
