import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Conversation, converse } from '../../kit/network/raw-http.ts';
import type { Answer } from '../../kit/service/service.ts';
import { type Case, corpus } from './corpus.ts';

/** The response to one request. */
export type Reply = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
};

/** A request without a response after this time counts as hanging. Long polls may take 30 s. */
const TIMEOUT_MS = 50_000;

/**
 * A client that sends raw bytes and reads the responses, one request at a time on one connection. It reconnects
 * after the connection was closed.
 */
export class RawConnection {
  readonly #port: number;
  readonly #host: string;
  #socket: Socket | undefined;

  constructor(baseUrl: string) {
    const { hostname, port } = new URL(baseUrl);
    [this.#host, this.#port] = [hostname, Number(port)];
  }

  /** Sends a request and returns its response. Rejects if the response is missing or incomplete. */
  async send(request: Buffer, method: string): Promise<Reply> {
    const socket = await this.#connected();
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    let [received, ended]: [Buffer, boolean] = [Buffer.alloc(0), false];
    const check = () => {
      const reply = replyIn(received, method, ended);
      if (reply !== undefined) resolve(reply);
      else if (ended) reject(new Error(`the connection ended after ${JSON.stringify(received.toString('latin1'))}`));
    };
    const onData = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      check();
    };
    const onEnd = () => {
      ended = true;
      check();
    };
    const timer = setTimeout(() => reject(new Error(`nothing came within ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
    socket.on('data', onData).once('close', onEnd);
    socket.write(request);
    try {
      const reply = await promise;
      const isOver = ended || reply.headers.get('connection') === 'close' || isStream(reply.headers);
      if (isOver) this.close();
      return reply;
    } catch (error) {
      this.close();
      throw error;
    } finally {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onEnd);
    }
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  async #connected(): Promise<Socket> {
    if (this.#socket?.writable) return this.#socket;
    const socket = connect(this.#port, this.#host).setNoDelay(true);
    this.#socket = socket;
    await once(socket, 'connect');
    // The service may close the connection while the request is being sent. The error is ignored, because a response
    // that was received before counts.
    socket.on('error', () => undefined);
    return socket;
  }
}

const isStream = (headers: Reply['headers']) => headers.get('content-type')?.startsWith('text/event-stream') === true;

/** Returns the response if it has arrived completely. For an event stream the head is enough. */
function replyIn(bytes: Buffer, method: string, ended: boolean): Reply | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  const rest = bytes.subarray(end + 4);
  if (status === 100) return replyIn(rest, method, ended);
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const isBare = method === 'HEAD' || status === 204 || status === 304 || isStream(headers);
  const body = isBare ? Buffer.alloc(0) : bodyIn(rest, headers);
  return body === undefined ? undefined : { status, headers, body };
}

function bodyIn(bytes: Buffer, headers: Reply['headers']): Buffer | undefined {
  const length = headers.get('content-length');
  if (length !== undefined) return bytes.length >= Number(length) ? bytes.subarray(0, Number(length)) : undefined;
  return headers.get('transfer-encoding') === 'chunked' ? chunksIn(bytes) : undefined;
}

function chunksIn(bytes: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const size = Number.parseInt(bytes.subarray(at, end).toString('latin1'), 16);
    if (size === 0) return Buffer.concat(chunks);
    if (bytes.length < end + 2 + size + 2) return undefined;
    chunks.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

/** Number of concurrent connections. */
const CONCURRENCY = 16;

type Caller = { readonly baseUrl: string; readonly headers: Readonly<Record<string, string>> };

/** Sends every request of the corpus. Returns the number of requests, and the unexpected responses. */
export async function sendMalformed(
  { baseUrl, headers }: Caller,
  seed: number,
): Promise<{ sent: number; broken: string[] }> {
  const ask = async (method: string, path: string, body?: string): Promise<Pick<Answer, 'status' | 'json'>> => {
    const answer = await fetch(baseUrl + path, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, json: await answer.json() };
  };
  const credentials = [`key: ${headers.key}`, `domain: ${headers.domain}`];
  // The hidden requests would delete this record.
  const kept = await ask('POST', '/v2/clients', '{"client_name":"Kept"}');
  const id: string = kept.json.data.client_id;
  const cases = corpus(credentials, seed).map((one) => ({
    ...one,
    bytes: one.bytes.replaceAll('/v2/clients/1 ', `/v2/clients/${id} `),
  }));
  const made = async () => (await ask('GET', '/v2/clients?client_name=Corpus&limit=1')).json.paging.total_records;
  const before = await made();
  const broken: string[] = [];
  const waiting = [...cases];
  const queue = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const fault = faultIn(next, await converse(baseUrl, next.bytes));
      if (fault !== undefined) broken.push(`${next.what}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, queue));
  const now = await ask('GET', `/v2/clients/${id}`);
  if (now.status !== 200 || now.json.data.client_name !== 'Kept') broken.push('a smuggled request was executed');
  const [more, taken] = [(await made()) - before, cases.filter(({ statuses }) => statuses.includes(201)).length];
  if (more !== taken) broken.push(`${more} clients were created by ${taken} requests`);
  return { sent: cases.length, broken };
}

/** Returns the reason for which a response does not match its case, or undefined if it matches. */
export function faultIn({ statuses }: Case, { text, closed, ...answered }: Conversation): string | undefined {
  if (answered.statuses.join() !== statuses.join())
    return `${answered.statuses.join() || 'nothing'} instead of ${statuses.join()}`;
  if (!closed) return 'the connection stays open';
  if (statuses[0] !== 400 || statuses.length > 1) return undefined;
  return /\r\ncontent-type: application\/problem\+json/i.test(text) ? undefined : `no problem: ${text}`;
}
