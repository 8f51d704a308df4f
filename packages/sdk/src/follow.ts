import { CarillonError } from './errors.ts';
import { systemPorts } from './runtime.ts';
import { type ApiCall, type OpenStream, unexpectedResponse } from './transport.ts';

/** A server-sent event. Missing fields are undefined, and a comment is an event without fields. */
export type ServerSentEvent = {
  readonly id: string | undefined;
  readonly data: string | undefined;
  readonly retryMs: number | undefined;
};

/** Parses server-sent events from a stream of bytes. An incomplete event at the end is dropped. */
export async function* parseEventStream(
  bytes: ReadableStream<Uint8Array>,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const reader = bytes.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      // If the text ends with a carriage return, its line feed may be in the next chunk.
      text = (text + decoder.decode(value, { stream: true })).replace(/\r\n|\r(?!$)/g, '\n');
      const whole = text.split('\n\n');
      text = whole.pop() ?? '';
      yield* whole.map(parseServerSentEvent);
    }
  } finally {
    // Cancel the stream, since the consumer has left the loop. This fails if the stream is already broken.
    await reader.cancel().catch(() => undefined);
  }
}

function parseServerSentEvent(text: string): ServerSentEvent {
  const fields = text.split('\n').map((line) => /^([^:]*):? ?(.*)$/s.exec(line) ?? []);
  const valuesOf = (wanted: string) => fields.filter(([, name]) => name === wanted).map(([, , value = '']) => value);
  const data = valuesOf('data');
  const retry = valuesOf('retry').at(-1);
  return {
    id: valuesOf('id').at(-1),
    data: data.length === 0 ? undefined : data.join('\n'),
    retryMs: retry !== undefined && /^\d+$/.test(retry) ? Number(retry) : undefined,
  };
}

/** Initial delay before reconnecting. It doubles with each failure, and the service may replace it. */
const INITIAL_WAIT_MS = 1_000;
/** Maximum delay before reconnecting. */
const MAX_WAIT_MS = 30_000;

/** After this time without data, the connection counts as lost. The service sends a heartbeat every 15 seconds. */
const SILENCE_TIMEOUT_MS = 45_000;

/** Options for following the feed. */
export type FollowOptions = {
  /** Ends the iteration without an error when the signal is aborted. */
  readonly signal?: AbortSignal | undefined;
};

/**
 * Yields the parsed server-sent events of a path. Reconnects when the connection is lost, and continues after the last
 * event with the query parameter `after`.
 */
export async function* followEvents<T>(
  open: OpenStream,
  { path, query = {} }: Pick<ApiCall, 'path' | 'query'>,
  { signal }: FollowOptions = {},
): AsyncGenerator<T, void, undefined> {
  let { after } = query;
  let initialWaitMs = INITIAL_WAIT_MS;
  let waitMs = INITIAL_WAIT_MS;
  let isFirstConnection = true;
  while (!signal?.aborted) {
    const silence = new SilenceTimeout();
    const streamSignal = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
    try {
      const bytes = await open({ method: 'GET', path, query: { ...query, after }, signal: streamSignal });
      isFirstConnection = false;
      for await (const { id, data, retryMs } of parseEventStream(bytes)) {
        initialWaitMs = retryMs ?? initialWaitMs;
        waitMs = initialWaitMs;
        after = id ?? after;
        // Pause the timeout while the consumer processes the event.
        silence.stop();
        if (data !== undefined) yield parseEventData(data);
        silence.restart();
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (isFirstConnection || !isTransient(error)) throw error;
    } finally {
      silence.stop();
    }
    await systemPorts.pause(waitMs, signal);
    waitMs = Math.min(2 * waitMs, MAX_WAIT_MS);
  }
}

/** Whether reconnecting may succeed. A rejection by the service is permanent. */
function isTransient(error: unknown): boolean {
  // An error in the middle of a stream comes from the runtime and can be of any type.
  if (!(error instanceof CarillonError)) return true;
  return error.status === 0 || error.status >= 500 || error.status === 408 || error.status === 429;
}

/** Parses the data of an event as JSON. The fields are not validated. */
function parseEventData<T>(data: string): T {
  try {
    return JSON.parse(data);
  } catch (error) {
    throw unexpectedResponse(200, 'An event of the stream is not JSON.', error);
  }
}

/** Aborts its signal after SILENCE_TIMEOUT_MS, unless `restart` or `stop` is called before. */
class SilenceTimeout {
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    this.stop();
    const lost = () => new CarillonError({ code: 'timeout', status: 0, message: 'The stream has timed out.' });
    this.#timer = setTimeout(() => this.#controller.abort(lost()), SILENCE_TIMEOUT_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
