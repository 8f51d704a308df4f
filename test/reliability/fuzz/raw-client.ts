import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Conversation, sendRawBytes } from '../../kit/network/raw-http.ts';
import type { ApiResponse } from '../../kit/service/service.ts';
import { type CorpusCase, createCorpus } from './corpus.ts';

/** The response to one request. */
export type RawResponse = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
};

/** A request without a response after this time counts as hanging. Long polls may take 30 s. */
const RESPONSE_TIMEOUT_MS = 50_000;

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
  async send(request: Buffer, method: string): Promise<RawResponse> {
    const socket = await this.#connect();
    const { promise, resolve, reject } = Promise.withResolvers<RawResponse>();
    let [received, ended]: [Buffer, boolean] = [Buffer.alloc(0), false];
    const check = () => {
      const reply = parseResponse(received, method, ended);
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
    const timer = setTimeout(
      () => reject(new Error(`nothing came within ${RESPONSE_TIMEOUT_MS} ms`)),
      RESPONSE_TIMEOUT_MS,
    );
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

  async #connect(): Promise<Socket> {
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

const isStream = (headers: RawResponse['headers']) =>
  headers.get('content-type')?.startsWith('text/event-stream') === true;

/** Returns the response if it has arrived completely. For an event stream the head is enough. */
function parseResponse(bytes: Buffer, method: string, ended: boolean): RawResponse | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  const rest = bytes.subarray(end + 4);
  if (status === 100) return parseResponse(rest, method, ended);
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const hasNoBody = method === 'HEAD' || status === 204 || status === 304 || isStream(headers);
  const body = hasNoBody ? Buffer.alloc(0) : parseBody(rest, headers);
  return body === undefined ? undefined : { status, headers, body };
}

function parseBody(bytes: Buffer, headers: RawResponse['headers']): Buffer | undefined {
  const length = headers.get('content-length');
  if (length !== undefined) return bytes.length >= Number(length) ? bytes.subarray(0, Number(length)) : undefined;
  return headers.get('transfer-encoding') === 'chunked' ? parseChunks(bytes) : undefined;
}

function parseChunks(bytes: Buffer): Buffer | undefined {
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

type MalformedCaller = { readonly baseUrl: string; readonly headers: Readonly<Record<string, string>> };

/** Sends every request of the corpus. Returns the number of requests, and the unexpected responses. */
export async function sendMalformed(
  { baseUrl, headers }: MalformedCaller,
  seed: number,
): Promise<{ sent: number; broken: string[] }> {
  const ask = async (method: string, path: string, body?: string): Promise<Pick<ApiResponse, 'status' | 'json'>> => {
    const answer = await fetch(baseUrl + path, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, json: await answer.json() };
  };
  const credentials = [`key: ${headers.key}`, `domain: ${headers.domain}`];
  // The hidden requests would delete this record.
  const keptClient = await ask('POST', '/v2/clients', '{"client_name":"Kept"}');
  const id: string = keptClient.json.data.client_id;
  const cases = createCorpus(credentials, seed).map((one) => ({
    ...one,
    bytes: one.bytes.replaceAll('/v2/clients/1 ', `/v2/clients/${id} `),
  }));
  const countCreated = async () =>
    (await ask('GET', '/v2/clients?client_name=Corpus&limit=1')).json.paging.total_records;
  const before = await countCreated();
  const broken: string[] = [];
  const waiting = [...cases];
  const sendWaiting = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const fault = describeMismatch(next, await sendRawBytes(baseUrl, next.bytes));
      if (fault !== undefined) broken.push(`${next.what}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, sendWaiting));
  const now = await ask('GET', `/v2/clients/${id}`);
  if (now.status !== 200 || now.json.data.client_name !== 'Kept') broken.push('a smuggled request was executed');
  const [more, taken] = [
    (await countCreated()) - before,
    cases.filter(({ statuses }) => statuses.includes(201)).length,
  ];
  if (more !== taken) broken.push(`${more} clients were created by ${taken} requests`);
  return { sent: cases.length, broken };
}

/** Returns the reason for which a response does not match its case, or undefined if it matches. */
export function describeMismatch(
  { statuses }: CorpusCase,
  { text, isClosed, ...answered }: Conversation,
): string | undefined {
  if (answered.statuses.join() !== statuses.join())
    return `${answered.statuses.join() || 'nothing'} instead of ${statuses.join()}`;
  if (!isClosed) return 'the connection stays open';
  if (statuses[0] !== 400 || statuses.length > 1) return undefined;
  return /\r\ncontent-type: application\/problem\+json/i.test(text) ? undefined : `no problem: ${text}`;
}
