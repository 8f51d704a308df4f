import { CarillonError } from './errors.ts';
import { systemDeps } from './runtime.ts';
import { type ApiCall, createUnexpectedResponseError, type OpenStream } from './transport.ts';

/** A server-sent event. Missing fields are undefined, and a comment is an event without fields. */
export type ServerSentEvent = {
  readonly id: string | undefined;
  readonly data: string | undefined;
  readonly retryMs: number | undefined;
};

/** Parses server-sent events from a stream of bytes. An incomplete event at the end is dropped. */
export async function* parseEventStream(
  byteStream: ReadableStream<Uint8Array>,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const reader = byteStream.getReader();
  const decoder = new TextDecoder();
  let bufferedText = '';
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      // Keep a carriage return at the end of the text, because its line feed may be in the next chunk.
      bufferedText = (bufferedText + decoder.decode(value, { stream: true })).replace(/\r\n|\r(?!$)/g, '\n');
      const completeEvents = bufferedText.split('\n\n');
      bufferedText = completeEvents.pop() ?? '';
      yield* completeEvents.map(parseServerSentEvent);
    }
  } finally {
    // Cancel the stream, since the consumer has left the loop. This fails if the stream is already broken.
    await reader.cancel().catch(() => undefined);
  }
}

function parseServerSentEvent(text: string): ServerSentEvent {
  const fields = text.split('\n').map((line) => /^([^:]*):? ?(.*)$/s.exec(line) ?? []);
  const valuesOf = (fieldName: string) =>
    fields.filter(([, name]) => name === fieldName).map(([, , value = '']) => value);
  const dataLines = valuesOf('data');
  const retryText = valuesOf('retry').at(-1);
  return {
    id: valuesOf('id').at(-1),
    data: dataLines.length === 0 ? undefined : dataLines.join('\n'),
    retryMs: retryText !== undefined && /^\d+$/.test(retryText) ? Number(retryText) : undefined,
  };
}

/** Delay before the first reconnection. It doubles with each failure. The field `retry` of an event replaces it. */
const INITIAL_RECONNECT_DELAY_MS = 1_000;
/** Maximum delay before reconnecting. */
const MAX_RECONNECT_DELAY_MS = 30_000;

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
  openStream: OpenStream,
  { path, query = {} }: Pick<ApiCall, 'path' | 'query'>,
  { signal }: FollowOptions = {},
): AsyncGenerator<T, void, undefined> {
  let { after } = query;
  let initialWaitMs = INITIAL_RECONNECT_DELAY_MS;
  let waitMs = INITIAL_RECONNECT_DELAY_MS;
  let isFirstConnection = true;
  while (!signal?.aborted) {
    const silenceTimeout = new SilenceTimeout();
    const streamSignal =
      signal === undefined ? silenceTimeout.signal : AbortSignal.any([signal, silenceTimeout.signal]);
    try {
      const byteStream = await openStream({ method: 'GET', path, query: { ...query, after }, signal: streamSignal });
      isFirstConnection = false;
      for await (const { id, data, retryMs } of parseEventStream(byteStream)) {
        initialWaitMs = retryMs ?? initialWaitMs;
        waitMs = initialWaitMs;
        after = id ?? after;
        // Pause the timeout while the consumer processes the event.
        silenceTimeout.stop();
        if (data !== undefined) yield parseEventData(data);
        silenceTimeout.restart();
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (isFirstConnection || !canReconnect(error)) throw error;
    } finally {
      silenceTimeout.stop();
    }
    await systemDeps.pause(waitMs, signal);
    waitMs = Math.min(2 * waitMs, MAX_RECONNECT_DELAY_MS);
  }
}

/** Whether reconnecting may succeed. A response that rejects the request (4xx) is permanent, except 408 and 429. */
function canReconnect(error: unknown): boolean {
  // An error in the middle of a stream comes from the runtime and can be of any type.
  if (!(error instanceof CarillonError)) return true;
  return error.status === 0 || error.status >= 500 || error.status === 408 || error.status === 429;
}

/** Parses the data of an event as JSON. The fields are not validated. */
function parseEventData<T>(data: string): T {
  try {
    return JSON.parse(data);
  } catch (error) {
    throw createUnexpectedResponseError(200, 'An event of the stream is not JSON.', error);
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
    const createTimeoutError = () =>
      new CarillonError({ code: 'timeout', status: 0, message: 'The stream has timed out.' });
    this.#timer = setTimeout(() => this.#controller.abort(createTimeoutError()), SILENCE_TIMEOUT_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
